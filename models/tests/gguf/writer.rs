//! GGUF files for tests, also malformed ones: every number can be set to what it should not be.

/// Types of metadata values.
pub const U32: u32 = 4;
pub const I32: u32 = 5;
pub const F32: u32 = 6;
pub const BOOL: u32 = 7;
pub const TEXT: u32 = 8;
pub const ARRAY: u32 = 9;

/// A file before it is written.
#[derive(Clone)]
pub struct Gguf {
    pub magic: [u8; 4],
    pub version: u32,
    /// What the header says instead of the true number of tensors.
    pub tensor_count: Option<u64>,
    pub entry_count: Option<u64>,
    pub alignment: u64,
    pub entries: Vec<(Vec<u8>, u32, Vec<u8>)>,
    pub tensors: Vec<Tensor>,
}

#[derive(Clone)]
pub struct Tensor {
    pub name: String,
    pub dims: Vec<u64>,
    pub dim_count: Option<u32>,
    pub kind: u32,
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

pub fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

pub fn array(kind: u32, values: &[Vec<u8>]) -> Vec<u8> {
    let head = [
        &kind.to_le_bytes()[..],
        &(values.len() as u64).to_le_bytes(),
    ]
    .concat();
    [head, values.concat()].concat()
}

impl Gguf {
    pub fn new() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            tensor_count: None,
            entry_count: None,
            alignment: 32,
            entries: Vec::new(),
            tensors: Vec::new(),
        }
    }

    pub fn set(&mut self, key: &str, kind: u32, value: Vec<u8>) {
        self.entries.retain(|(k, ..)| k != key.as_bytes());
        self.entries.push((key.into(), kind, value));
    }

    pub fn unset(&mut self, key: &str) {
        self.entries.retain(|(k, ..)| k != key.as_bytes());
    }

    pub fn number(&mut self, key: &str, value: u32) {
        self.set(key, U32, value.to_le_bytes().into());
    }

    pub fn float(&mut self, key: &str, value: f32) {
        self.set(key, F32, value.to_le_bytes().into());
    }

    pub fn text(&mut self, key: &str, value: &str) {
        self.set(key, TEXT, text(value));
    }

    pub fn texts(&mut self, key: &str, values: &[&str]) {
        let values: Vec<Vec<u8>> = values.iter().map(|v| text(v)).collect();
        self.set(key, ARRAY, array(TEXT, &values));
    }

    pub fn numbers(&mut self, key: &str, values: &[i32]) {
        let values: Vec<Vec<u8>> = values.iter().map(|v| v.to_le_bytes().into()).collect();
        self.set(key, ARRAY, array(I32, &values));
    }

    /// Replaces the tensor of this name. `dims` are in the file's order, rows' width first.
    pub fn tensor(&mut self, name: &str, dims: &[u64], kind: u32, data: &[u8]) {
        self.tensors.retain(|t| t.name != name);
        self.tensors.push(Tensor {
            name: name.into(),
            dims: dims.into(),
            dim_count: None,
            kind,
            offset: None,
            data: data.into(),
        });
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out: Vec<u8> = self.magic.into();
        out.extend(self.version.to_le_bytes());
        let count = |stated: Option<u64>, len: usize| stated.unwrap_or(len as u64).to_le_bytes();
        out.extend(count(self.tensor_count, self.tensors.len()));
        out.extend(count(self.entry_count, self.entries.len()));
        for (key, kind, value) in &self.entries {
            out.extend((key.len() as u64).to_le_bytes());
            out.extend(key);
            out.extend(kind.to_le_bytes());
            out.extend(value);
        }
        let (mut data, align) = (Vec::new(), self.alignment as usize);
        for tensor in &self.tensors {
            out.extend(text(&tensor.name));
            let dims = tensor.dim_count.unwrap_or(tensor.dims.len() as u32);
            out.extend(dims.to_le_bytes());
            out.extend(tensor.dims.iter().flat_map(|n| n.to_le_bytes()));
            out.extend(tensor.kind.to_le_bytes());
            data.resize(usize::next_multiple_of(data.len(), align), 0);
            out.extend(tensor.offset.unwrap_or(data.len() as u64).to_le_bytes());
            data.extend(&tensor.data);
        }
        out.resize(out.len().next_multiple_of(align), 0);
        [out, data].concat()
    }
}

/// The smallest text file that opens: a `llama` without layers worth the name.
pub fn minimal() -> Gguf {
    let mut file = Gguf::new();
    file.text("general.architecture", "llama");
    file.number("llama.block_count", 1);
    file.number("llama.context_length", 64);
    file.number("llama.embedding_length", 8);
    file.number("llama.feed_forward_length", 16);
    file.number("llama.attention.head_count", 2);
    file.float("llama.attention.layer_norm_rms_epsilon", 1e-5);
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "gpt-2");
    file.texts("tokenizer.ggml.tokens", &["a", "b", "ab", "<s>"]);
    file.numbers("tokenizer.ggml.token_type", &[1, 1, 1, 3]);
    file.texts("tokenizer.ggml.merges", &["a b"]);
    file.number("tokenizer.ggml.bos_token_id", 3);
    file.tensor("token_embd.weight", &[8, 4], 0, &[0; 128]);
    file
}
