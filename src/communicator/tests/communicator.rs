//! Ranks as threads and as processes exchange, split, agree and fail alike.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vxm_communicator::{Alone, Communicator, Error, Launcher, Mpi, Report, Threads, Traffic};

/// The bytes that `from` sends to `to` in an exchange where the longest parcel has `longest` bytes.
fn parcel(from: usize, to: usize, longest: usize) -> Vec<u8> {
    let length = (from * 31 + to * 17) * longest / 200 % (longest + 1);
    (0..length).map(|k| (k * 7 + from * 3 + to) as u8).collect()
}

/// Exchanges of every kind; every rank checks what it gets.
fn exercise(world: &Arc<dyn Communicator>) {
    let (rank, size) = (world.rank(), world.size());
    for longest in [0, 1, 56, 57, 5000, 300_000] {
        let before = world.sent();
        let out: Vec<_> = (0..size).map(|to| parcel(rank, to, longest)).collect();
        let lengths: Vec<usize> = out.iter().map(Vec::len).collect();
        let found = world.exchange(out).unwrap();
        for (from, found) in found.iter().enumerate() {
            assert_eq!(*found, parcel(from, rank, longest), "{world:?} from {from}");
        }
        let others = lengths.iter().enumerate().filter(|&(to, _)| to != rank).map(|(_, length)| length);
        let bytes = others.clone().map(|length| 8 + *length as u64).sum::<u64>();
        let messages = others.map(|&length| 1 + u64::from(length > 56)).sum::<u64>();
        let after = world.sent();
        assert_eq!((after.bytes - before.bytes, after.messages - before.messages), (bytes, messages));
    }
    let wrong = world.exchange(vec![Vec::new(); size + 1]).unwrap_err();
    assert_eq!(wrong, Error::Parcels { found: size + 1, size });

    // on to the next but one, parcels short and long
    for longest in [0, 56, 300_000] {
        let (to, from) = ((rank + 2) % size, (rank + size - 2 % size) % size);
        assert_eq!(world.pass(to, from, parcel(rank, to, longest)).unwrap(), parcel(from, rank, longest));
    }
    assert_eq!(world.pass(size, 0, vec![]).unwrap_err(), Error::Member { member: size, size });

    // two groups, numbered backwards
    let half = world.split((rank % 2) as u32, (size - rank) as u32).unwrap();
    let members: Vec<usize> = (0..size).rev().filter(|member| member % 2 == rank % 2).collect();
    assert_eq!((half.size(), members[half.rank()]), (members.len(), rank));
    let heard = half.exchange(vec![vec![rank as u8]; half.size()]).unwrap().concat();
    assert_eq!(heard, members.iter().map(|&member| member as u8).collect::<Vec<_>>());
    let again = half.split(0, half.rank() as u32).unwrap();
    assert_eq!((again.size(), again.sent()), (half.size(), Traffic::default()));

    let agreed = world.agree(Report { counters: vec![1, rank as u64], error: None }).unwrap();
    assert_eq!(agreed.counters, [size as u64, (size * (size - 1) / 2) as u64]);
    assert_eq!(agreed.error, None);
    let error = (rank + 1 == size).then(|| "the last one fails".to_owned());
    let agreed = world.agree(Report { counters: Vec::new(), error }).unwrap();
    assert_eq!(agreed.error, Some((size - 1, "the last one fails".to_owned())));
}

#[test]
fn one_rank_talks_to_itself() {
    let alone: Arc<dyn Communicator> = Arc::new(Alone);
    let found = alone.exchange(vec![vec![1, 2, 3]]).unwrap();
    assert_eq!((found, alone.sent()), (vec![vec![1, 2, 3]], Traffic::default()));
    exercise(&alone);
}

#[test]
fn threads_exchange() {
    for size in [1, 2, 3, 4, 7] {
        Threads::run(size, |world| exercise(&world));
    }
}

#[test]
fn many_ranks_agree_in_few_messages() {
    for size in [16, 17, 21, 31, 32, 33, 64, 100] {
        let told = Threads::run(size, |world| {
            let rank = world.rank() as u64;
            let error = (rank % 5 == 3).then(|| format!("{rank} has no room"));
            let agreed = world.agree(Report { counters: vec![1, rank, rank * rank], error }).unwrap();
            let messages = world.sent().messages;
            // different numbers of counters are an error of all
            let misfit = world.agree(Report { counters: vec![0; usize::from(rank == 5)], error: None });
            assert!(misfit.unwrap_err().to_string().starts_with("a message that doesn't fit: "));
            (agreed, messages)
        });
        let sum = |of: fn(u64) -> u64| (0..size as u64).map(of).sum::<u64>();
        for (agreed, messages) in told {
            assert_eq!(agreed.counters, [size as u64, sum(|rank| rank), sum(|rank| rank * rank)]);
            assert_eq!(agreed.error, Some((3, "3 has no room".to_owned())));
            // a step takes a parcel, and another message if it is long: with three counters two sums are
            let most = if size <= 16 { 15 } else { 2 * u64::from(size.next_power_of_two().ilog2()) };
            assert!(messages <= most, "{size}: {messages}");
        }
    }
}

#[test]
fn members_tell_as_many_counters() {
    let told = Threads::run(2, |world| {
        let counters = vec![0; world.rank()];
        world.agree(Report { counters, error: None }).unwrap_err().to_string()
    });
    let expected = "a message that doesn't fit: a report of 16 bytes from rank 1: expected all ranks to run the same program on the \
                    same input";
    assert_eq!(told, [expected, expected]);
}

#[test]
fn threads_fail_together() {
    let began = Instant::now();
    let told = Threads::run_within(3, Some(Duration::from_millis(200)), |world| {
        if world.rank() == 1 {
            // leaves without a word
            return String::new();
        }
        world.exchange(vec![Vec::new(); 3]).unwrap_err().to_string()
    });
    let waited = "waited 0 s for rank 1 of its group: expected progress within --timeout";
    assert_eq!(told, [waited, "", waited]);
    assert!(began.elapsed() < Duration::from_secs(5));

    let seen = std::sync::Mutex::new(Vec::new());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        Threads::run(2, |world| {
            assert_eq!(world.rank(), 0, "this rank panics");
            seen.lock().unwrap().push(world.exchange(vec![Vec::new(); 2]).unwrap_err().to_string());
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(*seen.lock().unwrap(), ["rank 1 has failed: it panicked"]);
}

/// The launchers of this machine. `VXM_TEST_MPI` says that both kinds must be there.
fn launchers() -> Vec<&'static str> {
    let is_there = |name: &str| {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).map(|folder: PathBuf| folder.join(name)).any(|file| file.is_file())
    };
    let found: Vec<_> = ["mpirun.openmpi", "mpirun.mpich"].into_iter().filter(|name| is_there(name)).collect();
    assert!(found.len() == 2 || env::var_os("VXM_TEST_MPI").is_none(), "found only {found:?}");
    found
}

/// Runs the test `name` of this program as ranks. Returns whether it succeeded, and what it printed.
fn as_ranks(launcher: &str, size: usize, name: &str) -> (bool, String) {
    let out = Command::new(launcher)
        .args(["-n", &size.to_string()])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("VXM_TEST_AS_RANK", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.success(), text)
}

/// This process as a rank, if it is one.
fn joined(limit: Option<Duration>) -> Option<Arc<dyn Communicator>> {
    env::var_os("VXM_TEST_AS_RANK")?;
    Some(Arc::new(Mpi::join(&Launcher::seen().unwrap(), limit).unwrap()))
}

#[test]
fn processes_exchange() {
    if let Some(world) = joined(None) {
        exercise(&world);
        println!("rank {} of {} is done", world.rank(), world.size());
        // another thread may not communicate
        let other = world.clone();
        let refused = std::thread::spawn(move || other.exchange(vec![Vec::new(); other.size()])).join().unwrap();
        assert_eq!(refused, Err(Error::OtherThread));
        let refused = std::thread::spawn(|| Mpi::join(&Launcher::seen().unwrap(), None).map(drop)).join().unwrap();
        assert_eq!(refused, Err(Error::OtherThread));
        // a second join finds the same job
        assert_eq!(Mpi::join(&Launcher::seen().unwrap(), None).unwrap().size(), world.size());
        return;
    }
    for launcher in launchers() {
        for size in [1, 2, 4] {
            let (succeeded, text) = as_ranks(launcher, size, "processes_exchange");
            assert!(succeeded, "{launcher} -n {size}: {text}");
            for rank in 0..size {
                assert!(text.contains(&format!("rank {rank} of {size} is done")), "{launcher} -n {size}: {text}");
            }
        }
    }
}

#[test]
fn processes_fail_together() {
    if let Some(world) = joined(Some(Duration::from_secs(1))) {
        match (env::var("VXM_TEST_FAULT").as_deref(), world.rank()) {
            (Ok("panic"), 1) => panic!("this rank panics"),
            (Ok("abort"), 1) => world.abort(3, "this rank aborts"),
            (Ok("late"), 1) => std::thread::sleep(Duration::from_secs(60)),
            (Ok("gone"), 1) => std::process::exit(7),
            _ => {
                let error = world.exchange(vec![Vec::new(); world.size()]).unwrap_err();
                world.abort(2, &error.to_string());
            }
        }
        return;
    }
    for launcher in launchers() {
        for (fault, line) in [
            ("panic", "this rank panics"),
            ("abort", "vxm: rank 1: this rank aborts"),
            ("late", "waited 1 s for rank 1 of its group: expected progress within --timeout"),
            ("gone", ""),
        ] {
            let began = Instant::now();
            // SAFETY: no other test of this program reads or writes this variable
            unsafe { env::set_var("VXM_TEST_FAULT", fault) };
            let (succeeded, text) = as_ranks(launcher, 3, "processes_fail_together");
            assert!(!succeeded && text.contains(line), "{launcher}, {fault}: {text}");
            assert!(began.elapsed() < Duration::from_secs(20), "{launcher}, {fault}: {:?}", began.elapsed());
        }
    }
}

#[test]
fn a_rank_needs_its_library() {
    if env::var_os("VXM_TEST_AS_RANK").is_some() {
        let told = Mpi::join(&Launcher::seen().unwrap(), None).unwrap_err().to_string();
        println!("told: {told}");
        return;
    }
    let told = |variables: &[(&str, &str)]| {
        let out = Command::new(env::current_exe().unwrap())
            .args(["--exact", "a_rank_needs_its_library", "--nocapture"])
            .env("VXM_TEST_AS_RANK", "1")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let none = told(&[("OMPI_COMM_WORLD_SIZE", "4"), ("VXM_MPI", "libnone.so.0")]);
    assert!(none.contains("told: VXM_MPI=libnone.so.0: "), "{none}");
    let other = told(&[("PMI_SIZE", "4"), ("VXM_MPI", "libm.so.6")]);
    assert!(
        other.contains("told: VXM_MPI=libm.so.6: expected an MPI library of Open MPI, MPICH or the standard ABI"),
        "{other}"
    );
}
