//! A network of regions as an ONNX file: the few messages of its protocol buffers that this takes.

/// One dense layer: weights as outputs × inputs.
pub(crate) struct Dense<'a> {
    pub(crate) weight: &'a [f32],
    pub(crate) bias: &'a [f32],
    pub(crate) n_inputs: usize,
}

/// What becomes a file.
pub(crate) struct RegionNetwork<'a> {
    /// Rectified one after the other.
    pub(crate) trunk: Vec<Dense<'a>>,
    /// All heads beside each other, linear.
    pub(crate) heads: Dense<'a>,
    pub(crate) n_heads: usize,
    /// Terms × entries: how a table is made from a head's terms.
    pub(crate) expansion: Vec<f32>,
    pub(crate) n_entries: usize,
    /// What a reader must know, by name.
    pub(crate) metadata: Vec<(String, String)>,
}

const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;
const FLOAT: u64 = 1;
const INT64: u64 = 7;
/// The kind of an attribute that is a whole number.
const WHOLE: u64 = 2;

/// A message of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// A constant tensor.
fn tensor(name: &str, shape: &[usize], kind: u64, data: &[u8]) -> Message {
    let sized = shape.iter().fold(Message::default(), |all, &size| all.number(1, size as u64));
    sized.number(2, kind).text(8, name).bytes(9, data)
}

fn floats(name: &str, shape: &[usize], numbers: &[f32]) -> Message {
    let data: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    tensor(name, shape, FLOAT, &data)
}

/// A node; a `Gemm` takes weights as outputs × inputs.
fn node(kind: &str, inputs: &[&str], output: &str) -> Message {
    let named = inputs.iter().fold(Message::default(), |all, input| all.text(1, input));
    let named = named.text(2, output).text(3, output).text(4, kind);
    if kind == "Gemm" {
        let transposed = Message::default().text(1, "transB").number(3, 1).number(20, WHOLE);
        return named.message(5, &transposed);
    }
    named
}

/// An input or output: rows of any number, then these sizes.
fn value(name: &str, sizes: &[usize]) -> Message {
    let any = Message::default().text(2, "rows");
    let mut shape = Message::default().message(1, &any);
    for &size in sizes {
        shape = shape.message(1, &Message::default().number(1, size as u64));
    }
    let tensor = Message::default().number(1, FLOAT).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

impl RegionNetwork<'_> {
    /// The file: `rows` in, `tables` out (rows, heads, joint actions).
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut graph = Message::default();
        let mut last = "rows".to_owned();
        let layers = self.trunk.iter().map(|layer| (layer, true));
        for (index, (layer, rectify)) in layers.chain([(&self.heads, false)]).enumerate() {
            let [weight, bias, sum] =
                ["weight", "bias", "sum"].map(|part| format!("{part}_{index}"));
            let n_outputs = layer.bias.len();
            graph = graph
                .message(1, &node("Gemm", &[&last, &weight, &bias], &sum))
                .message(5, &floats(&weight, &[n_outputs, layer.n_inputs], layer.weight))
                .message(5, &floats(&bias, &[n_outputs], layer.bias));
            last = sum;
            if rectify {
                let positive = format!("positive_{index}");
                graph = graph.message(1, &node("Relu", &[&last], &positive));
                last = positive;
            }
        }
        let n_terms = self.heads.bias.len() / self.n_heads;
        let shape = [0, self.n_heads as i64, n_terms as i64];
        let shape: Vec<u8> = shape.iter().flat_map(|size| size.to_le_bytes()).collect();
        graph = graph
            .message(1, &node("Reshape", &[&last, "heads_by_terms"], "terms"))
            .message(5, &tensor("heads_by_terms", &[3], INT64, &shape))
            .message(1, &node("MatMul", &["terms", "expansion"], "tables"))
            .message(5, &floats("expansion", &[n_terms, self.n_entries], &self.expansion))
            .text(2, "region_network")
            .message(11, &value("rows", &[self.trunk[0].n_inputs]))
            .message(12, &value("tables", &[self.n_heads, self.n_entries]));
        let mut model = Message::default()
            .number(1, IR_VERSION)
            .text(2, "cgcmarl")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &graph)
            .message(8, &Message::default().text(1, "").number(2, OPSET));
        for (key, content) in &self.metadata {
            model = model.message(14, &Message::default().text(1, key).text(2, content));
        }
        model.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers and lengths of protocol buffers, against bytes worked out by hand.
    #[test]
    fn messages_are_encoded_as_their_definition_says() {
        assert_eq!(Message::default().number(1, 300).0, [0x08, 0xac, 0x02]);
        assert_eq!(Message::default().text(2, "ab").0, [0x12, 2, b'a', b'b']);
        let inner = Message::default().number(3, 1);
        assert_eq!(Message::default().message(5, &inner).0, [0x2a, 2, 0x18, 1]);
        assert_eq!(Message::default().number(20, 2).0, [0xa0, 0x01, 2]);
        assert_eq!(
            floats("w", &[1], &[1.0]).0,
            [0x08, 1, 0x10, 1, 0x42, 1, b'w', 0x4a, 4, 0, 0, 0x80, 0x3f]
        );
    }
}
