use super::*;
use crate::finding::command_of;
use romer_record::doctor::CheckVerdict;

#[test]
fn interrupts_are_told_with_where_they_go_and_how_to_move_them() {
    let anybody = Rights::of_anybody();
    assert_eq!(interrupts(&[], &anybody).verdict, CheckVerdict::Good);
    let one = Interrupts {
        interface: "eth0".into(),
        numbers: vec![41, 42],
        cpus: ["0".to_owned(), "1".to_owned()].into(),
    };
    let finding = interrupts(&[one], &anybody);
    assert_eq!(
        command_of(&finding),
        "echo 0 | sudo tee /proc/irq/41/smp_affinity_list /proc/irq/42/smp_affinity_list"
    );
    let state = InterruptState { numbers: vec![41, 42], cpus: "0,1".into() };
    let interfaces = [("eth0".to_owned(), state)].into();
    assert_eq!(finding.check, DoctorCheck::Interrupts { interfaces });
}

#[test]
fn packets_that_gather_are_a_limit() {
    let anybody = Rights::of_anybody();
    let with = |receive_us, transmit_us, adaptive| {
        coalescing(Ok(vec![("eth0".into(), Coalescing { receive_us, transmit_us, adaptive })]), &anybody)
    };
    assert_eq!(with(0, 0, false).verdict, CheckVerdict::Good);
    assert_eq!(with(3, 10, false).verdict, CheckVerdict::Good);
    for finding in [with(50, 0, false), with(0, 64, false), with(0, 0, true)] {
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert_eq!(command_of(&finding), "sudo ethtool -C eth0 adaptive-rx off rx-usecs 0");
    }
    assert_eq!(coalescing(Ok(Vec::new()), &anybody).verdict, CheckVerdict::Good);
}

#[test]
fn a_strict_filter_and_a_full_table_are_limits() {
    let anybody = Rights::of_anybody();
    assert_eq!(reverse_path(None, &anybody).verdict, CheckVerdict::Good);
    assert_eq!(reverse_path(Some(Vec::new()), &anybody).verdict, CheckVerdict::Good);
    assert_eq!(reverse_path(Some(vec!["all".into()]), &anybody).verdict, CheckVerdict::Limited);
    for (read, verdict) in [
        (None, CheckVerdict::Good),
        (Some((0, 262_144)), CheckVerdict::Good),
        (Some((1_000, 262_144)), CheckVerdict::Good),
        (Some((200_000, 262_144)), CheckVerdict::Limited),
        (Some((0, 0)), CheckVerdict::Good),
    ] {
        assert_eq!(conntrack(read, &anybody).verdict, verdict, "{read:?}");
    }
}

#[test]
fn routers_that_are_not_heeded_are_a_limit_with_what_that_means() {
    let anybody = Rights::of_anybody();
    for heard in [None, Some(PacketTooBigHandling::Heeded)] {
        assert_eq!(too_long(heard, &anybody).verdict, CheckVerdict::Good, "{heard:?}");
    }
    for (heard, ip_no_pmtu_disc, min_pmtu) in [
        (PacketTooBigHandling::Least(552), Some(1), Some(552)),
        (PacketTooBigHandling::Unheard(3), Some(3), None),
    ] {
        let finding = too_long(Some(heard), &anybody);
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert_eq!(command_of(&finding), "sudo sysctl -w net.ipv4.ip_no_pmtu_disc=0");
        assert_eq!(finding.check, DoctorCheck::PathMtu { ip_no_pmtu_disc, min_pmtu });
    }
}

#[test]
fn what_is_there_what_is_forbidden_and_what_is_absent_are_told_apart() {
    let anybody = Rights::of_anybody();
    let all = |presence| Access {
        packet_socket: presence,
        xdp_socket: presence,
        bpf: presence,
        btf: presence,
        nftables: presence,
        tun: presence,
    };
    assert_eq!(access(all(Presence::Usable), &anybody).verdict, CheckVerdict::Good);
    let forbidden = access(all(Presence::Forbidden), &anybody);
    assert_eq!((forbidden.verdict, command_of(&forbidden)), (CheckVerdict::Limited, "sudo romer doctor"));
    assert_eq!(access(all(Presence::Absent), &anybody).verdict, CheckVerdict::Missing);
    let no_btf = access(Access { btf: Presence::Absent, ..all(Presence::Usable) }, &anybody);
    assert_eq!((no_btf.verdict, no_btf.fix), (CheckVerdict::Limited, Some(DoctorFix::UseCompleteKernel)));
    assert_eq!(veth(Presence::Usable, &anybody).verdict, CheckVerdict::Good);
    assert_eq!(veth(Presence::Absent, &anybody).verdict, CheckVerdict::Missing);
}

/// A kernel without tcx is named as too old; a user without rights learns nothing of the kernel.
#[test]
fn kernels_without_tcx_are_named() {
    let refused = |errno| {
        let source = std::io::Error::from_raw_os_error(errno);
        Err(HostError::System { operation: "attach a program", subject: String::new(), source })
    };
    let (eperm, einval) = (1, 22);
    assert_eq!(in_packet(&Ok(())).verdict, CheckVerdict::Good);
    let tcx = |finding: &DoctorFinding| match &finding.check {
        DoctorCheck::InPacketStamps { tcx, .. } => *tcx,
        other => panic!("{other:?}"),
    };
    let unknown = in_packet(&refused(eperm));
    assert_eq!((unknown.verdict, tcx(&unknown)), (CheckVerdict::Good, None));
    let old = in_packet(&refused(einval));
    assert_eq!((old.verdict, tcx(&old)), (CheckVerdict::Limited, Some(false)));
    assert_eq!(old.fix, Some(DoctorFix::UseKernelWithTcx));
}
