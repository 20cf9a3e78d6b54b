//! TensorBoard event files: scalar summaries as protocol buffers inside TFRecord frames.
//!
//! A frame is `length:u64, masked_crc(length):u32, data, masked_crc(data):u32`, little-endian. The
//! messages used are `Event { 1: wall_time double, 2: step int64, 3: file_version string,
//! 5: summary }`, `Summary { 1: value }` and `Value { 1: tag string, 2: simple_value float }`.

/// The frame every event file starts with.
pub fn header(wall_time: f64) -> Vec<u8> {
    let mut event = vec![];
    double(&mut event, 1, wall_time);
    bytes(&mut event, 3, b"brain.Event:2");
    frame(&event)
}

/// The frame of some scalars at a step.
pub fn scalars(wall_time: f64, step: u64, values: &[(String, f64)]) -> Vec<u8> {
    let mut summary = vec![];
    for (tag, value) in values {
        let mut entry = vec![];
        bytes(&mut entry, 1, tag.as_bytes());
        key(&mut entry, 2, 5);
        entry.extend((*value as f32).to_le_bytes());
        bytes(&mut summary, 1, &entry);
    }
    let mut event = vec![];
    double(&mut event, 1, wall_time);
    key(&mut event, 2, 0);
    varint(&mut event, step);
    bytes(&mut event, 5, &summary);
    frame(&event)
}

fn frame(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut frame = length.to_vec();
    frame.extend(masked(crc32c(&length)).to_le_bytes());
    frame.extend(data);
    frame.extend(masked(crc32c(data)).to_le_bytes());
    frame
}

fn key(message: &mut Vec<u8>, field: u64, wire_type: u64) {
    varint(message, field << 3 | wire_type);
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn double(message: &mut Vec<u8>, field: u64, value: f64) {
    key(message, field, 1);
    message.extend(value.to_le_bytes());
}

fn bytes(message: &mut Vec<u8>, field: u64, content: &[u8]) {
    key(message, field, 2);
    varint(message, content.len() as u64);
    message.extend(content);
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: frames are short and rare.
fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn the_header_is_what_tensorboard_writes() {
        // wall_time 1.0: key 0x09 and eight bytes; file_version: key 0x1a, length 13, the text.
        let expected =
            [&[9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x1a, 13][..], b"brain.Event:2"].concat();
        let frame = header(1.0);
        assert_eq!(&frame[..8], 24u64.to_le_bytes());
        assert_eq!(&frame[12..36], expected);
        assert_eq!(frame.len(), 8 + 4 + 24 + 4);
    }

    #[test]
    fn a_scalar_has_its_step_tag_and_value() {
        let frame = scalars(0.0, 300, &[("a".into(), 1.0)]);
        let event = [0x10, 0xac, 0x02, 0x2a, 10, 0x0a, 8, 0x0a, 1, b'a', 0x15, 0, 0, 0x80, 0x3f];
        assert_eq!(&frame[12 + 9..frame.len() - 4], event);
    }
}
