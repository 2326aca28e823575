//! How E7 writes a function, a call and a default in each language.

/// The lines of a language; `{}` is a name, `{v}` a number, `{n}` a counter.
#[derive(Debug, Clone, Copy)]
pub struct CodeLanguage {
    /// File name extension.
    pub extension: &'static str,
    /// `snake_case` names, else `camelCase`.
    pub snake: bool,
    /// First lines of a file.
    pub head: &'static str,
    /// Last lines of a file.
    pub tail: &'static str,
    /// A comment.
    pub comment: &'static str,
    /// The line that opens a function.
    pub open: &'static str,
    /// A line of a function.
    pub filler: &'static str,
    /// A call.
    pub call: &'static str,
    /// The lines that close a function.
    pub close: &'static [&'static str],
    /// Before the options.
    pub options_open: &'static str,
    /// One option with its default.
    pub option: &'static str,
    /// Behind the options.
    pub options_close: &'static str,
}

/// Rust.
pub const RUST: CodeLanguage = CodeLanguage {
    extension: "rs",
    snake: true,
    head: "use std::collections::BTreeMap;\n",
    tail: "",
    comment: "/// {}",
    open: "pub fn {}(input: &str, depth: usize) -> usize {",
    filler: "    let step{n} = input.len() * {v} + depth;",
    call: "    let _ = {}(input, depth + 1);",
    close: &["    depth", "}"],
    options_open: "\npub struct Options(BTreeMap<String, u32>);\n\npub struct Defaults;\n\nimpl Default for Options {\n    fn default() -> Self {\n        Self {\n",
    option: "            {}: {v},",
    options_close: "        }\n    }\n}\n",
};

/// Python.
pub const PYTHON: CodeLanguage = CodeLanguage {
    extension: "py",
    snake: true,
    head: "from dataclasses import dataclass\n",
    tail: "",
    comment: "# {}",
    open: "def {}(text, depth=0):",
    filler: "    step{n} = len(text) * {v} + depth",
    call: "    {}(text, depth + 1)",
    close: &["    return depth", ""],
    options_open: "\n@dataclass\nclass Options:\n",
    option: "    {}: int = {v}",
    options_close: "\n",
};

/// TypeScript.
pub const TYPESCRIPT: CodeLanguage = CodeLanguage {
    extension: "ts",
    snake: false,
    head: "import { readFileSync } from \"node:fs\";\n",
    tail: "",
    comment: "// {}",
    open: "export function {}(text: string, depth: number): number {",
    filler: "  const step{n} = text.length * {v} + depth;",
    call: "  {}(text, depth + 1);",
    close: &["  return depth;", "}"],
    options_open: "\nexport class Options {\n",
    option: "  {}: number = {v};",
    options_close: "}\n",
};

/// Go.
pub const GO: CodeLanguage = CodeLanguage {
    extension: "go",
    snake: false,
    head: "package stage\n",
    tail: "",
    comment: "// {}",
    open: "func {}(text string, depth int) int {",
    filler: "\tstep{n} := len(text)*{v} + depth\n\t_ = step{n}",
    call: "\t{}(text, depth+1)",
    close: &["\treturn depth", "}"],
    options_open: "\nvar DefaultOptions = Options{\n",
    option: "\t{}: {v},",
    options_close: "}\n",
};

/// Java.
pub const JAVA: CodeLanguage = CodeLanguage {
    extension: "java",
    snake: false,
    head: "package stage;\n\nfinal class Part {\n",
    tail: "}\n",
    comment: "    // {}",
    open: "    static int {}(String text, int depth) {",
    filler: "        int step{n} = text.length() * {v} + depth;",
    call: "        {}(text, depth + 1);",
    close: &["        return depth;", "    }"],
    options_open: "\n    static final class Options {\n",
    option: "        int {} = {v};",
    options_close: "    }\n",
};

/// C.
pub const C: CodeLanguage = CodeLanguage {
    extension: "c",
    snake: true,
    head: "#include <string.h>\n",
    tail: "",
    comment: "/* {} */",
    open: "int {}(const char *text, int depth) {",
    filler: "    int step{n} = (int)strlen(text) * {v} + depth;\n    (void)step{n};",
    call: "    {}(text, depth + 1);",
    close: &["    return depth;", "}"],
    options_open: "\nstatic const struct options default_options = {\n",
    option: "    .{} = {v},",
    options_close: "};\n",
};
