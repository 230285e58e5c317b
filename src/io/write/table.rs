//! Tables of edges: Parquet, and Arrow's files. Columns are `source` and `target`, and `weight` if the matrix has numbers, or
//! one for each field of a struct.

use crate::error::Result;
use crate::formats::Csr;
use crate::io::FileFormat;
use crate::io::loaded::Numbering;
use crate::io::value::Value;
use crate::io::whole::WholeFile;
use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, UInt64Array, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use core::ops::Range;
use half::{bf16, f16};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use std::io::{self, BufWriter};
use std::sync::Arc;
use vxm_semiring::dynamic::Kind;

/// The entries of a batch.
const BATCH: usize = 1 << 16;

/// Writes a table of all entries.
pub(super) fn write<T: Value>(
    whole: WholeFile,
    format: FileFormat,
    matrix: &Csr<T>,
    numbering: &Numbering,
) -> Result<()> {
    let schema = schema::<T>(numbering);
    whole.write(|file| {
        let file = BufWriter::with_capacity(1 << 18, file);
        let batches = |write: &mut dyn FnMut(&RecordBatch) -> io::Result<()>| {
            // some batches at a time, because those of the whole matrix would take more memory than it does
            let starts: Vec<usize> = (0..matrix.nnz()).step_by(BATCH).collect();
            for group in starts.chunks(4 * rayon::current_num_threads()) {
                let batch = |&start: &usize| {
                    let entries = start..(start + BATCH).min(matrix.nnz());
                    batch(matrix, entries, numbering, &schema)
                };
                let made: Vec<_> = group.par_iter().map(batch).collect();
                for batch in made {
                    write(&batch.map_err(io::Error::other)?)?;
                }
            }
            Ok::<(), io::Error>(())
        };
        if format == FileFormat::Arrow {
            let mut out = FileWriter::try_new(file, &schema).map_err(io::Error::other)?;
            batches(&mut |batch| out.write(batch).map_err(io::Error::other))?;
            out.finish().map_err(io::Error::other)
        } else {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut out =
                ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(io::Error::other)?;
            batches(&mut |batch| out.write(batch).map_err(io::Error::other))?;
            out.close().map(drop).map_err(io::Error::other)
        }
    })
}

/// The columns.
fn schema<T: Value>(numbering: &Numbering) -> SchemaRef {
    let ends = if matches!(numbering, Numbering::Named(_)) { DataType::LargeUtf8 } else { DataType::UInt64 };
    let mut fields = vec![Field::new("source", ends.clone(), false), Field::new("target", ends, false)];
    fields.extend(T::FIELDS.iter().map(|field| Field::new(column::<T>(field), value_type(field.kind), false)));
    Arc::new(Schema::new(fields))
}

/// The type of weights. Truth values are written as 0 and 1.
fn value_type(kind: Kind) -> DataType {
    match kind {
        Kind::I8 => DataType::Int8,
        Kind::I16 => DataType::Int16,
        Kind::I32 => DataType::Int32,
        Kind::I64 => DataType::Int64,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        // which all readers know, and every float of 16 bits is one
        Kind::F16 | Kind::Bf16 | Kind::F32 => DataType::Float32,
        Kind::F64 => DataType::Float64,
        _ => DataType::UInt8,
    }
}

/// The column of a number: that of weights, or one with the name of a struct's field.
fn column<T: Value>(field: &vxm_semiring::Field) -> &'static str {
    if T::NUMBER.is_some() { "weight" } else { field.name }
}

/// Some of the entries, by their places.
fn batch<T: Value>(
    matrix: &Csr<T>,
    places: Range<usize>,
    numbering: &Numbering,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let offsets = matrix.offsets();
    let mut row = offsets.partition_point(|&offset| offset <= places.start as u64).saturating_sub(1);
    let mut entries = Vec::with_capacity(places.len());
    for place in places {
        while offsets[row + 1] <= place as u64 {
            row += 1;
        }
        entries.push((row as u32, matrix.columns()[place], matrix.values()[place]));
    }
    let (from, to) = (|| entries.iter().map(|entry| entry.0), || entries.iter().map(|entry| entry.1));
    let ends: [ArrayRef; 2] = match numbering {
        Numbering::Named(names) => [
            Arc::new(LargeStringArray::from_iter_values(from().map(|vertex| names.name(vertex)))),
            Arc::new(LargeStringArray::from_iter_values(to().map(|vertex| names.name(vertex)))),
        ],
        _ => [
            Arc::new(UInt64Array::from_iter_values(from().map(|vertex| numbering.number(vertex)))),
            Arc::new(UInt64Array::from_iter_values(to().map(|vertex| numbering.number(vertex)))),
        ],
    };
    let mut columns = ends.to_vec();
    for field in T::FIELDS {
        let size = field.kind.size();
        let mut numbers = Vec::with_capacity(4 * entries.len());
        for (_, _, value) in &entries {
            let bits = value.wide_bits() >> (8 * field.at);
            match field.kind {
                Kind::F16 => numbers.extend(f16::from_bits(bits as u16).to_f32().to_le_bytes()),
                Kind::Bf16 => numbers.extend(bf16::from_bits(bits as u16).to_f32().to_le_bytes()),
                _ => numbers.extend(&bits.to_le_bytes()[..size]),
            }
        }
        let data = ArrayData::builder(value_type(field.kind)).len(entries.len()).add_buffer(Buffer::from(numbers));
        columns.push(make_array(data.build()?));
    }
    RecordBatch::try_new(Arc::clone(schema), columns)
}
