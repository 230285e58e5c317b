//! Files of Parquet, by the crate `parquet`. A part is a row group.

use crate::error::Result;
use crate::io::table::{BATCH, Decoded, Parts};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use memmap2::Mmap;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use std::sync::Arc;

/// An open file.
pub(super) struct Groups {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    columns: Vec<usize>,
}

/// The bytes of a mapped file.
pub(super) struct Mapped(pub Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Groups {
    pub fn open(map: Arc<Mmap>) -> Result<Self, String> {
        let bytes = Bytes::from_owner(Mapped(map));
        let metadata =
            ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()).map_err(|error| error.to_string())?;
        let groups = metadata.metadata().row_groups();
        let unread = groups.iter().flat_map(|group| group.columns()).find_map(|column| match column.compression() {
            Compression::BROTLI(_) => Some("brotli"),
            Compression::LZO => Some("lzo"),
            _ => None,
        });
        if let Some(unread) = unread {
            return Err(format!("a column is compressed by {unread}, not by snappy, gzip, lz4 or zstd"));
        }
        if groups.iter().any(|group| group.num_rows() < 0) {
            return Err("a negative number of rows".to_owned());
        }
        let ends = |column: &ColumnChunkMetaData| {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let (start, length) = (u64::try_from(start), u64::try_from(column.compressed_size()));
            start.ok().zip(length.ok()).and_then(|(start, length)| start.checked_add(length))
        };
        let is_within = |column| ends(column).is_some_and(|end| end <= bytes.len() as u64);
        if !groups.iter().flat_map(|group| group.columns()).all(is_within) {
            return Err("a column beyond the end of the file".to_owned());
        }
        // text is decoded to views of the pages, which hold a name that many rows have once
        let fields = metadata.schema().fields().iter().map(|field| match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
            _ => Arc::clone(field),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options);
        Ok(Self { bytes, metadata: metadata.map_err(|error| error.to_string())?, columns: Vec::new() })
    }
}

impl Parts for Groups {
    fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    fn rows(&self) -> Vec<u64> {
        self.metadata.metadata().row_groups().iter().map(|group| group.num_rows() as u64).collect()
    }

    fn choose(&mut self, columns: Vec<usize>) {
        self.columns = columns;
    }

    fn decode(&self, part: usize, take: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Decoded<()> {
        let told = |error: &dyn core::fmt::Display| error.to_string();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), self.columns.iter().copied());
        let reader = builder.with_row_groups(vec![part]).with_projection(mask).with_batch_size(BATCH).build();
        for batch in reader.map_err(|error| told(&error))? {
            if let Err(error) = take(batch.map_err(|error| told(&error))?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}
