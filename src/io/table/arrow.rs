//! Files of Arrow (IPC, Feather of version 2), by the crate `arrow-ipc`. A part is a record batch. Columns that aren't compressed are read where
//! the mapped file has them.

use crate::error::Result;
use crate::io::table::parquet::Mapped;
use crate::io::table::{BATCH, Decoded, Parts};
use crate::memory;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Message, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::Schema;
use bytes::Bytes;
use memmap2::Mmap;
use std::sync::Arc;

/// What a file ends with: the length of its footer, and a mark.
const TRAILER: usize = 10;

/// An open file.
pub(super) struct Batches {
    bytes: Buffer,
    schema: Arc<Schema>,
    version: MetadataVersion,
    decoder: FileDecoder,
    /// The record batches, and the number of rows of each.
    blocks: Vec<(Block, u64)>,
}

/// Where a batch lies in the file.
fn slice(bytes: &Buffer, block: &Block) -> Result<Buffer, String> {
    let told = || format!("a batch beyond the end of the file, at byte {}", block.offset());
    let (offset, head, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
    let offset = usize::try_from(offset).map_err(|_| told())?;
    let head = usize::try_from(head).map_err(|_| told())?;
    let length = usize::try_from(body).ok().and_then(|body| body.checked_add(head)).ok_or_else(told)?;
    match offset.checked_add(length) {
        Some(end) if end <= bytes.len() => Ok(bytes.slice_with_length(offset, length)),
        _ => Err(told()),
    }
}

/// The message of a batch: behind a mark of 4 bytes that newer files have, and its length.
fn message(slice: &[u8]) -> Result<Message<'_>, String> {
    let start = if slice.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let text = slice.get(start..).ok_or("a batch without a message")?;
    root_as_message(text).map_err(|error| format!("a batch without a message ({error})"))
}

/// The number of rows of a batch. Columns must lie within it, and not unfold to more than the memory holds.
fn rows(slice: &[u8], head: usize) -> Result<u64, String> {
    let message = message(slice)?;
    let dictionary = message.header_as_dictionary_batch();
    let batch = message.header_as_record_batch().or_else(|| dictionary?.data()).ok_or("a message of another kind")?;
    let body = &slice[head..];
    let mut unfolded = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, length) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
        let column = start.ok().zip(length.ok()).and_then(|(start, length)| body.get(start..)?.get(..length));
        let column = column.ok_or("a column beyond the end of its batch")?;
        let length = column.first_chunk().map_or(0, |word| i64::from_le_bytes(*word));
        unfolded += u128::from(length.max(0) as u64);
    }
    if batch.compression().is_some() && unfolded > u128::from(memory::available()) {
        return Err(format!("a batch that unfolds to {unfolded} bytes, more than there is memory"));
    }
    u64::try_from(batch.length()).map_err(|_| "a negative number of rows".to_owned())
}

impl Batches {
    pub fn open(map: Arc<Mmap>) -> Result<Self, String> {
        let told = |error: &dyn core::fmt::Display| error.to_string();
        let bytes = Buffer::from(Bytes::from_owner(Mapped(map)));
        let trailer = bytes.len().checked_sub(TRAILER).ok_or("its end")?;
        let last = bytes[trailer..].first_chunk().ok_or("its end")?;
        let length = read_footer_length(*last).map_err(|error| told(&error))?;
        let start = trailer.checked_sub(length).ok_or("a footer beyond the start of the file")?;
        let footer = root_as_footer(&bytes[start..trailer]).map_err(|error| told(&error))?;
        let schema = footer.schema().ok_or("no columns")?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err("numbers with their bytes in another order than this machine's".to_owned());
        }
        let schema = Arc::new(try_fb_to_schema(schema).map_err(|error| told(&error))?);
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        for block in footer.dictionaries().into_iter().flatten() {
            let slice = slice(&bytes, block)?;
            rows(&slice, block.metaDataLength() as usize)?;
            decoder.read_dictionary(block, &slice).map_err(|error| told(&error))?;
        }
        let blocks = footer.recordBatches().into_iter().flatten().map(|block| {
            let slice = slice(&bytes, block)?;
            Ok((*block, rows(&slice, block.metaDataLength() as usize)?))
        });
        let blocks = blocks.collect::<Result<_, String>>()?;
        let version = footer.version();
        Ok(Self { schema, version, decoder, blocks, bytes })
    }
}

impl Parts for Batches {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn rows(&self) -> Vec<u64> {
        self.blocks.iter().map(|(_, rows)| *rows).collect()
    }

    fn choose(&mut self, columns: Vec<usize>) {
        let none = FileDecoder::new(Arc::clone(&self.schema), self.version);
        self.decoder = core::mem::replace(&mut self.decoder, none).with_projection(columns);
    }

    fn decode(&self, part: usize, take: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Decoded<()> {
        let (block, _) = &self.blocks[part];
        let slice = slice(&self.bytes, block)?;
        let batch = self.decoder.read_record_batch(block, &slice).map_err(|error| error.to_string())?;
        let batch = batch.ok_or("a batch without rows")?;
        for start in (0..batch.num_rows()).step_by(BATCH) {
            if let Err(error) = take(batch.slice(start, BATCH.min(batch.num_rows() - start))) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}
