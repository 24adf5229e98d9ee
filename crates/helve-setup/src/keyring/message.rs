//! Messages of the D-Bus, written and read: only the types that the Secret Service needs, little-endian, within limits.

/// Longest message that is read.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Writes values one behind the other, each where its type belongs.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    pub(super) fn byte(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(super) fn number(&mut self, value: u32) -> &mut Self {
        self.align(4);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A string, or the path of an object.
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend(text.as_bytes());
        self.byte(0)
    }

    pub(super) fn signature(&mut self, text: &str) -> &mut Self {
        self.byte(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.0.extend(text.as_bytes());
        self.byte(0)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.0.extend(bytes);
        self
    }

    /// An array whose elements begin at multiples of `to`.
    pub(super) fn array(&mut self, to: usize, write: impl FnOnce(&mut Self)) -> &mut Self {
        self.number(0);
        let place = self.0.len() - 4;
        self.align(to);
        let start = self.0.len();
        write(self);
        let length = u32::try_from(self.0.len() - start).unwrap_or(u32::MAX);
        self.0.splice(place..place + 4, length.to_le_bytes());
        self
    }

    /// Texts by their names: `a{ss}`.
    pub(super) fn texts(&mut self, texts: &[(&'static str, String)]) -> &mut Self {
        self.array(8, |writer| {
            for (name, value) in texts {
                writer.align(8);
                writer.string(name).string(value);
            }
        })
    }
}

/// A call, ready to be sent.
pub(super) struct Call<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
    pub(super) signature: &'a str,
    pub(super) body: Writer,
}

impl Call<'_> {
    pub(super) fn into_bytes(self, serial: u32) -> Vec<u8> {
        let body = self.body.into_bytes();
        let mut message = Writer::default();
        message.byte(b'l').byte(1).byte(0).byte(1);
        message.number(u32::try_from(body.len()).unwrap_or(u32::MAX)).number(serial);
        let fields = [(1, "o", self.path), (2, "s", self.interface), (3, "s", self.member), (6, "s", self.destination)];
        message.array(8, |writer| {
            for (code, kind, text) in fields {
                writer.align(8);
                writer.byte(code).signature(kind).string(text);
            }
            if !self.signature.is_empty() {
                writer.align(8);
                writer.byte(8).signature("g").signature(self.signature);
            }
        });
        message.align(8);
        let mut bytes = message.into_bytes();
        bytes.extend(body);
        bytes
    }
}

/// Reads values one behind the other; `None` when they are not there.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        self.align(4);
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(super) fn string(&mut self) -> Option<&'a str> {
        let length = self.number()? as usize;
        let text = std::str::from_utf8(self.take(length)?).ok()?;
        (self.byte()? == 0).then_some(text)
    }

    pub(super) fn signature(&mut self) -> Option<&'a str> {
        let length = usize::from(self.byte()?);
        let text = std::str::from_utf8(self.take(length)?).ok()?;
        (self.byte()? == 0).then_some(text)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        self.take(length)
    }

    /// Paths of objects: `ao`.
    pub(super) fn paths(&mut self) -> Option<Vec<String>> {
        let length = self.number()? as usize;
        let end = self.at.checked_add(length)?;
        let mut paths = Vec::new();
        while self.at < end {
            paths.push(self.string()?.to_owned());
        }
        (self.at == end).then_some(paths)
    }

    pub(super) const fn is_before(&self, end: usize) -> bool {
        self.at < end
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}

/// The first sixteen bytes of a message: its type, and how long the rest is.
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) fields: usize,
    pub(super) body: usize,
}

impl Head {
    pub(super) const BYTES: usize = 16;

    /// `None` when it is not a message that can be read here.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let (order, kind, _, version) = (reader.byte()?, reader.byte()?, reader.byte()?, reader.byte()?);
        let (body, _, fields) = (reader.number()? as usize, reader.number()?, reader.number()? as usize);
        let is_sane = order == b'l' && version == 1 && body <= MOST_BYTES && fields <= MOST_BYTES;
        is_sane.then_some(Self { kind, fields, body })
    }

    /// How many bytes follow, the gap before the body among them.
    pub(super) const fn rest(&self) -> usize {
        self.fields.next_multiple_of(8) + self.body
    }
}

/// What the fields of a message say that matter here.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) answers: Option<u32>,
    pub(super) error: Option<String>,
    pub(super) signature: String,
}

impl Fields {
    pub(super) fn read(bytes: &[u8], length: usize) -> Option<Self> {
        let mut fields = Self::default();
        let mut reader = Reader::new(bytes);
        while reader.is_before(length) {
            // Each begins at a multiple of eight, and so do the fields as a whole.
            reader.align(8);
            let code = reader.byte()?;
            match (code, reader.signature()?) {
                (5, "u") => fields.answers = Some(reader.number()?),
                (4, "s") => fields.error = Some(reader.string()?.to_owned()),
                (8, "g") => reader.signature()?.clone_into(&mut fields.signature),
                (_, "s" | "o") => drop(reader.string()?),
                (_, "u") => drop(reader.number()?),
                (_, "g") => drop(reader.signature()?),
                _ => return None,
            }
        }
        Some(fields)
    }
}
