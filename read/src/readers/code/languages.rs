//! What definitions, calls and values look like in the grammars of six languages.

use tree_sitter::Language;

use crate::readers::Kind;

/// The node kinds of a grammar.
pub(super) struct Grammar {
    /// The parser.
    pub language: Language,
    /// Nodes that define a symbol, and what the symbol is.
    pub definitions: &'static [(&'static str, &'static str)],
    /// Nodes that call something, and the field that holds what is called.
    pub calls: &'static [(&'static str, &'static str)],
    /// Nodes that give a name a value, and the field of the name.
    pub values: &'static [(&'static str, &'static str)],
    /// String literals that may have several lines.
    pub strings: &'static [&'static str],
}

/// The grammar of a kind; none for what is no source code.
pub(super) fn grammar(kind: Kind, jsx: bool) -> Option<Grammar> {
    Some(match kind {
        Kind::Rust => Grammar {
            language: tree_sitter_rust::LANGUAGE.into(),
            definitions: &[
                ("function_item", "function"),
                ("function_signature_item", "function"),
                ("struct_item", "struct"),
                ("enum_item", "enum"),
                ("union_item", "union"),
                ("trait_item", "trait"),
                ("impl_item", "impl"),
                ("const_item", "constant"),
                ("static_item", "static"),
                ("mod_item", "module"),
                ("type_item", "type"),
                ("macro_definition", "macro"),
                ("enum_variant", "variant"),
                ("field_declaration", "field"),
            ],
            calls: &[
                ("call_expression", "function"),
                ("macro_invocation", "macro"),
            ],
            values: &[
                ("field_initializer", "field"),
                ("const_item", "name"),
                ("static_item", "name"),
                ("let_declaration", "pattern"),
            ],
            strings: &["raw_string_literal", "string_literal"],
        },
        Kind::Python => Grammar {
            language: tree_sitter_python::LANGUAGE.into(),
            definitions: &[
                ("function_definition", "function"),
                ("class_definition", "class"),
            ],
            calls: &[("call", "function")],
            values: &[
                ("assignment", "left"),
                ("default_parameter", "name"),
                ("typed_default_parameter", "name"),
                ("keyword_argument", "name"),
            ],
            strings: &["string"],
        },
        Kind::TypeScript => Grammar {
            language: if jsx {
                tree_sitter_typescript::LANGUAGE_TSX.into()
            } else {
                tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()
            },
            definitions: &[
                ("function_declaration", "function"),
                ("generator_function_declaration", "function"),
                ("class_declaration", "class"),
                ("abstract_class_declaration", "class"),
                ("method_definition", "method"),
                ("interface_declaration", "interface"),
                ("type_alias_declaration", "type"),
                ("enum_declaration", "enum"),
                ("variable_declarator", "variable"),
                ("public_field_definition", "field"),
            ],
            calls: &[
                ("call_expression", "function"),
                ("new_expression", "constructor"),
            ],
            values: &[
                ("variable_declarator", "name"),
                ("public_field_definition", "name"),
                ("pair", "key"),
                ("assignment_pattern", "left"),
                ("required_parameter", "pattern"),
                ("optional_parameter", "pattern"),
            ],
            strings: &["template_string"],
        },
        Kind::Go => Grammar {
            language: tree_sitter_go::LANGUAGE.into(),
            definitions: &[
                ("function_declaration", "function"),
                ("method_declaration", "method"),
                ("type_spec", "type"),
                ("const_spec", "constant"),
                ("var_spec", "variable"),
                ("field_declaration", "field"),
            ],
            calls: &[("call_expression", "function")],
            values: &[
                ("keyed_element", ""),
                ("const_spec", "name"),
                ("var_spec", "name"),
                ("short_var_declaration", "left"),
            ],
            strings: &["raw_string_literal"],
        },
        Kind::Java => Grammar {
            language: tree_sitter_java::LANGUAGE.into(),
            definitions: &[
                ("method_declaration", "method"),
                ("constructor_declaration", "constructor"),
                ("class_declaration", "class"),
                ("interface_declaration", "interface"),
                ("enum_declaration", "enum"),
                ("record_declaration", "record"),
                ("field_declaration", "field"),
            ],
            calls: &[
                ("method_invocation", "name"),
                ("object_creation_expression", "type"),
            ],
            values: &[("variable_declarator", "name")],
            strings: &["string_literal"],
        },
        Kind::C => Grammar {
            language: tree_sitter_c::LANGUAGE.into(),
            definitions: &[
                ("function_definition", "function"),
                ("struct_specifier", "struct"),
                ("enum_specifier", "enum"),
                ("union_specifier", "union"),
                ("type_definition", "type"),
                ("preproc_def", "macro"),
                ("preproc_function_def", "macro"),
                ("enumerator", "constant"),
                ("declaration", "declaration"),
            ],
            calls: &[("call_expression", "function")],
            values: &[
                ("initializer_pair", "designator"),
                ("init_declarator", "declarator"),
                ("preproc_def", "name"),
            ],
            strings: &["concatenated_string"],
        },
        _ => return None,
    })
}
