//! The objects of a message, sorted by class, before they are read.

use crate::adspec::Adspec;
use crate::fault::Fault;
use crate::flowspec::Flowspec;
use crate::message::{Flow, Flows, Forwarded, Kind, SenderDescriptor, SenderReference, View};
use crate::object::{
    Confirm, ErrorSpec, Filter, Hop, OpaqueObject, RawObject, RefreshPeriod, Session, Style, class,
    is_known_type,
};
use crate::tspec::Tspec;

/// Class numbers below this one are those of RFC 2205.
const KNOWN: usize = 16;

/// The objects of one message.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    single: [Option<RawObject<'a>>; KNOWN],
    /// FLOWSPEC and FILTER_SPEC objects in their order.
    flows: Vec<RawObject<'a>>,
    pub(super) forwarded: Forwarded,
}

/// Whether messages of this kind have objects of a known class.
const fn allows(kind: Kind, number: u8) -> bool {
    let sender = matches!(number, class::SENDER_TEMPLATE | class::SENDER_TSPEC | class::ADSPEC);
    let flows = matches!(number, class::STYLE | class::FLOWSPEC | class::FILTER_SPEC);
    if matches!(number, class::INTEGRITY | class::SESSION) {
        return true;
    }
    match kind {
        Kind::Path => sender || matches!(number, class::RSVP_HOP | class::TIME_VALUES | class::POLICY_DATA),
        Kind::Resv => {
            let own = matches!(number, class::TIME_VALUES | class::RESV_CONFIRM | class::POLICY_DATA);
            flows || own || matches!(number, class::RSVP_HOP | class::SCOPE)
        }
        Kind::PathErr => sender || matches!(number, class::ERROR_SPEC | class::POLICY_DATA),
        Kind::ResvErr => {
            let own = matches!(number, class::ERROR_SPEC | class::POLICY_DATA);
            flows || own || matches!(number, class::RSVP_HOP | class::SCOPE)
        }
        Kind::PathTear => sender || matches!(number, class::RSVP_HOP),
        Kind::ResvTear => flows || matches!(number, class::RSVP_HOP | class::SCOPE),
        Kind::ResvConf => flows || matches!(number, class::ERROR_SPEC | class::RESV_CONFIRM),
    }
}

impl<'a> Parts<'a> {
    /// Sorts the objects. The first fault is returned with everything that can be sorted, because a report needs it.
    pub(super) fn sort(view: &View<'a>) -> (Self, Option<Fault>) {
        let mut parts = Self::default();
        let mut fault = None;
        for (index, object) in view.objects().enumerate() {
            let result = object.and_then(|object| parts.insert(view.kind(), index, object));
            fault = fault.or(result.err());
        }
        (parts, fault)
    }

    fn insert(&mut self, kind: Kind, index: usize, object: RawObject<'a>) -> Result<(), Fault> {
        let RawObject { class, ctype, .. } = object;
        let Some(name) = class::name(class) else {
            // RFC 2205 section 3.10; an object of class 0 has no meaning (section 3.1.2).
            match class {
                class::NULL | 128..=191 => {}
                192.. => self.forwarded.push(OpaqueObject::new(&object)),
                _ => return Err(Fault::UnknownClass { class, ctype }),
            }
            return Ok(());
        };
        if !allows(kind, class) || (class == class::INTEGRITY && index > 0) {
            return Err(Fault::Misplaced(name));
        }
        if !is_known_type(class, ctype) {
            return Err(Fault::UnknownType { class, ctype });
        }
        // The style and the flow descriptors are the end of a message (RFC 2205 section 3.1.4).
        let styled = self.object(class::STYLE).is_some();
        let describes = matches!(class, class::FLOWSPEC | class::FILTER_SPEC);
        if styled != describes && class != class::STYLE {
            return Err(Fault::Misplaced(name));
        }
        if describes {
            self.flows.push(object);
            return Ok(());
        }
        if class == class::POLICY_DATA {
            self.forwarded.push(OpaqueObject::new(&object));
            return Ok(());
        }
        match self.single.get_mut(usize::from(class)) {
            Some(place @ None) => {
                *place = Some(object);
                Ok(())
            }
            _ => Err(Fault::Repeated(name)),
        }
    }

    fn object(&self, class: u8) -> Option<&'a [u8]> {
        self.single.get(usize::from(class)).copied().flatten().map(|object| object.body)
    }
    /// The value of a class that the message needs.
    fn required<T>(&self, class: u8, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, Fault> {
        self.optional(class, read)?.ok_or(Fault::Missing(class::name(class).unwrap_or_default()))
    }
    fn optional<T>(&self, class: u8, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, Fault> {
        let malformed = Fault::Malformed(class::name(class).unwrap_or_default());
        self.object(class).map(|body| read(body).ok_or(malformed)).transpose()
    }

    pub(super) fn session(&self) -> Result<Session, Fault> {
        self.required(class::SESSION, Session::parse)
    }
    pub(super) fn hop(&self) -> Result<Hop, Fault> {
        self.required(class::RSVP_HOP, Hop::parse)
    }
    pub(super) fn period(&self) -> Result<RefreshPeriod, Fault> {
        self.required(class::TIME_VALUES, RefreshPeriod::parse)
    }
    pub(super) fn error(&self) -> Result<ErrorSpec, Fault> {
        self.required(class::ERROR_SPEC, ErrorSpec::parse)
    }
    pub(super) fn confirm(&self) -> Result<Option<Confirm>, Fault> {
        self.optional(class::RESV_CONFIRM, Confirm::parse)
    }
    pub(super) fn required_confirm(&self) -> Result<Confirm, Fault> {
        self.required(class::RESV_CONFIRM, Confirm::parse)
    }
    pub(super) fn style(&self) -> Result<Style, Fault> {
        self.required(class::STYLE, Style::parse)
    }
    /// The style, which must be fixed filter.
    fn fixed_filter(&self) -> Result<(), Fault> {
        let style = self.style()?;
        if style.is_fixed_filter() { Ok(()) } else { Err(Fault::Style(style.bits())) }
    }

    /// Checks the rule for zero ports (RFC 2205 section 3.2). An error message quotes what breaks the rule, and is not checked.
    fn check_ports(&self, filters: impl IntoIterator<Item = Filter>) -> Result<(), Fault> {
        let portless = self.session()?.port() == 0;
        let conflict = portless && filters.into_iter().any(|filter| filter.port() != 0);
        if conflict { Err(Fault::SourcePort) } else { Ok(()) }
    }
    pub(super) fn template(&self) -> Result<Option<Filter>, Fault> {
        self.optional(class::SENDER_TEMPLATE, Filter::parse)
    }
    pub(super) fn tspec(&self) -> Result<Option<Tspec>, Fault> {
        self.object(class::SENDER_TSPEC).map(Tspec::parse).transpose().map_err(Fault::Tspec)
    }
    fn adspec(&self) -> Result<Option<Adspec>, Fault> {
        self.object(class::ADSPEC).map(Adspec::parse).transpose().map_err(Fault::Adspec)
    }
    pub(super) fn sender(&self) -> Result<SenderDescriptor, Fault> {
        let template = self.template()?.ok_or(Fault::Missing("SENDER_TEMPLATE"))?;
        self.check_ports([template])?;
        Ok(SenderDescriptor {
            template,
            tspec: self.tspec()?.ok_or(Fault::Missing("SENDER_TSPEC"))?,
            adspec: self.adspec()?,
        })
    }
    /// The sender where its traffic is ignored.
    pub(super) fn sender_reference(&self) -> Result<Option<SenderReference>, Fault> {
        let (tspec, adspec) = (self.tspec().ok().flatten(), self.adspec().ok().flatten());
        Ok(self.template()?.map(|template| SenderReference { template, tspec, adspec }))
    }
    pub(super) fn torn_sender(&self) -> Result<SenderReference, Fault> {
        let sender = self.sender_reference()?.ok_or(Fault::Missing("SENDER_TEMPLATE"))?;
        self.check_ports([sender.template])?;
        Ok(sender)
    }

    /// The flow descriptors. A descriptor without FLOWSPEC has `absent`, or that of the one before (RFC 2205 section 3.1.4).
    fn descriptors<F: Copy>(
        &self,
        absent: Option<F>,
        read: impl Fn(&[u8]) -> Result<F, Fault>,
    ) -> Result<Vec<Flow<F>>, Fault> {
        let mut flows = Vec::new();
        let mut current = absent;
        let mut unused = false;
        for object in &self.flows {
            if object.class == class::FLOWSPEC {
                if unused {
                    return Err(Fault::Misplaced("FLOWSPEC"));
                }
                current = Some(read(object.body)?);
                unused = true;
                continue;
            }
            let filter = Filter::parse(object.body).ok_or(Fault::Malformed("FILTER_SPEC"))?;
            flows.push(Flow { flowspec: current.ok_or(Fault::Missing("FLOWSPEC"))?, filter });
            current = absent.or(current);
            unused = false;
        }
        if unused { Err(Fault::Missing("FILTER_SPEC")) } else { Ok(flows) }
    }
    pub(super) fn flows(&self) -> Result<Flows, Fault> {
        self.fixed_filter()?;
        let flows = self.descriptors(None, Flowspec::parse)?;
        self.check_ports(flows.iter().map(|flow| flow.filter))?;
        Flows::new(flows).ok_or(Fault::Missing("FLOWSPEC"))
    }
    fn described(&self) -> Result<Vec<Flow<Option<Flowspec>>>, Fault> {
        self.descriptors(Some(None), |body| Ok(Flowspec::parse(body).ok()))
    }
    /// The flow descriptors where their FLOWSPEC objects are ignored.
    pub(super) fn torn_flows(&self) -> Result<Flows<Option<Flowspec>>, Fault> {
        self.fixed_filter()?;
        let flows = self.described()?;
        self.check_ports(flows.iter().map(|flow| flow.filter))?;
        Flows::new(flows).ok_or(Fault::Missing("FILTER_SPEC"))
    }
    /// The flow descriptor of an error, which is of any style.
    pub(super) fn failed_flow(&self) -> Result<Option<Flow<Option<Flowspec>>>, Fault> {
        if !self.style()?.is_fixed_filter() {
            return Ok(None);
        }
        match self.described()?[..] {
            [] => Ok(None),
            [flow] => Ok(Some(flow)),
            _ => Err(Fault::Repeated("FILTER_SPEC")),
        }
    }
    /// The first filter that can be read.
    pub(super) fn first_filter(&self) -> Option<Filter> {
        let mut filters = self.flows.iter().filter(|object| object.class == class::FILTER_SPEC);
        filters.next().and_then(|object| Filter::parse(object.body))
    }
}
