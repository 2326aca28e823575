//! stub
pub struct Dialect;
impl Dialect {
    pub fn sniff(_: &str) -> Option<Self> {
        None
    }
    pub fn is_certain(&self) -> bool {
        false
    }
}
