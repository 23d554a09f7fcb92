//! Serves files by ranges over HTTP/1.1 on 127.0.0.1, with the latency, bandwidth and failures of a cloud.
//!
//!     trajet-range-server [OPTIONS] NAME=FILE[*TIMES]...
//!
//!     --delay-ms 50           every answer waits so long
//!     --megabytes-per-s 250   all connections together get this rate
//!     --connection-mb-per-s 100   each connection gets at most this rate
//!     --fail-every 100        each hundredth request fails: 503, a body cut in the middle, or no answer, in turns
//!     --port 0                a free one by default
//!
//! NAME is served with the bytes of FILE, TIMES times over, as if they were one file: an XTC file has no
//! header, so that large trajectories take no space. The port is printed when connections are accepted.
//! The end of standard input ends the server. A waiting answer takes no processor time, so that few cores
//! can be a cloud and its client.
//!
//! `GET /.stats` returns numbers as JSON, and `GET /.reset` sets them to zero and returns what they were;
//! neither waits, nor counts. `POST /.set?delay-ms=20&...` changes options.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are read from a file and sent at a time.
const PIECE: u64 = 64 * 1024;
/// Nanoseconds that a limit makes up for, as the system wakes threads too late, and the shortest sleep.
const BURST: u64 = 50_000_000;
const SHORTEST: u64 = 1_000_000;
const LARGEST_HEADER: u64 = 16 * 1024;
const STACK: usize = 128 * 1024;

/// A file whose bytes are repeated.
struct Served {
    file: File,
    once: u64,
    size: u64,
    etag: String,
}

impl Served {
    fn open(path: &str, times: u64) -> io::Result<Served> {
        let file = File::open(path)?;
        let once = file.metadata()?.len();
        Ok(Served { file, once, size: once * times, etag: format!("\"{once:x}-{times:x}\"") })
    }

    /// Fills a buffer from an offset on.
    fn read(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let within = offset % self.once;
            let length = buffer.len().min((self.once - within) as usize);
            let (now, rest) = buffer.split_at_mut(length);
            self.file.read_exact_at(now, within)?;
            offset += length as u64;
            buffer = rest;
        }
        Ok(())
    }
}

/// Hands out the time in which bytes may be sent: nanoseconds since the start.
#[derive(Default)]
struct Limit {
    free_at: Mutex<u64>,
}

impl Limit {
    /// Waits until `bytes` fit the rate, given as nanoseconds per 1,024 bytes; 0 for no limit.
    fn wait(&self, since: Instant, bytes: u64, rate: u64) {
        if rate == 0 {
            return;
        }
        let now = since.elapsed().as_nanos() as u64;
        let end = {
            let mut free_at = self.free_at.lock().unwrap();
            *free_at = (*free_at).max(now.saturating_sub(BURST)) + bytes * rate / 1024;
            *free_at
        };
        if end > now + SHORTEST {
            thread::sleep(Duration::from_nanos(end - now));
        }
    }
}

#[derive(Default)]
struct Numbers {
    requests: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicU64,
    connections: AtomicU64,
    now: AtomicU64,
    most_at_once: AtomicU64,
}

struct Server {
    files: HashMap<String, Served>,
    since: Instant,
    numbers: Numbers,
    /// Requests since the start, which decide which of them fail.
    requests: AtomicU64,
    delay_ms: AtomicU64,
    fail_every: AtomicU64,
    /// Nanoseconds per 1,024 bytes, of all connections and of each.
    rate: AtomicU64,
    connection_rate: AtomicU64,
    limit: Limit,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Throttle,
    Cut,
    Close,
}

struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
}

fn main() {
    if let Err(error) = run() {
        eprintln!("trajet-range-server: {error}");
        exit(1);
    }
}

fn run() -> Result<(), String> {
    let (mut options, mut files, mut port) = (Vec::new(), HashMap::new(), 0);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_prefix("--") {
            let value = words.next().ok_or(format!("--{name} needs a value"))?;
            if name == "port" {
                port = value.parse().map_err(|_| "--port needs a number")?;
            } else {
                options.push((name.to_owned(), value));
            }
            continue;
        }
        let (name, path) = word.split_once('=').ok_or(format!("{word}: is not NAME=FILE"))?;
        let (path, times) = path.split_once('*').unwrap_or((path, "1"));
        let times = times.parse().map_err(|_| format!("{word}: TIMES is no number"))?;
        let served = Served::open(path, times).map_err(|error| format!("{path}: {error}"))?;
        files.insert(format!("/{name}"), served);
    }
    let server = Arc::new(Server {
        files,
        since: Instant::now(),
        numbers: Numbers::default(),
        requests: AtomicU64::new(0),
        delay_ms: AtomicU64::new(0),
        fail_every: AtomicU64::new(0),
        rate: AtomicU64::new(0),
        connection_rate: AtomicU64::new(0),
        limit: Limit::default(),
    });
    for (name, value) in &options {
        server.set(name, value)?;
    }
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    println!("{}", listener.local_addr().map_err(|error| error.to_string())?.port());
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        exit(0);
    });
    for connection in listener.incoming() {
        let Ok(connection) = connection else { continue };
        let server = Arc::clone(&server);
        let started = thread::Builder::new().stack_size(STACK).spawn(move || {
            // A client that has gone is no failure of the server.
            let _ = server.serve(&connection);
        });
        started.map_err(|error| error.to_string())?;
    }
    Ok(())
}

impl Server {
    fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let number: f64 = value.parse().map_err(|_| format!("{name}: {value} is no number"))?;
        let per_kib = if number > 0.0 { (1024.0 * 1e3 / number) as u64 } else { 0 };
        match name {
            "delay-ms" => self.delay_ms.store(number as u64, Relaxed),
            "fail-every" => self.fail_every.store(number as u64, Relaxed),
            "megabytes-per-s" => self.rate.store(per_kib, Relaxed),
            "connection-mb-per-s" => self.connection_rate.store(per_kib, Relaxed),
            _ => return Err(format!("{name}: no such option")),
        }
        Ok(())
    }

    /// Answers the requests of a connection.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        self.numbers.connections.fetch_add(1, Relaxed);
        let mut reader = BufReader::with_capacity(4096, stream);
        let limit = Limit::default();
        while let Some(request) = read_request(&mut reader)? {
            if request.path.starts_with("/.") {
                self.control(stream, &request.path)?;
                continue;
            }
            let now = self.numbers.now.fetch_add(1, Relaxed) + 1;
            self.numbers.most_at_once.fetch_max(now, Relaxed);
            let answered = self.answer(stream, &request, &limit);
            self.numbers.now.fetch_sub(1, Relaxed);
            if !answered? {
                break;
            }
        }
        Ok(())
    }

    /// Answers a request; returns whether the connection goes on.
    fn answer(&self, mut stream: &TcpStream, request: &Request, limit: &Limit) -> io::Result<bool> {
        self.numbers.requests.fetch_add(1, Relaxed);
        thread::sleep(Duration::from_millis(self.delay_ms.load(Relaxed)));
        let fault = self.fault();
        if fault == Some(Fault::Close) {
            return Ok(false);
        }
        let Some(served) = self.files.get(&request.path) else {
            return send_empty(stream, "404 Not Found", "");
        };
        if fault == Some(Fault::Throttle) {
            return send_empty(stream, "503 Slow Down", "Retry-After: 0\r\n");
        }
        let about = format!("ETag: {}\r\nAccept-Ranges: bytes\r\n", served.etag)
            + "Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT\r\n";
        if request.headers.get("if-match").is_some_and(|tag| *tag != served.etag && tag != "*") {
            return send_empty(stream, "412 Precondition Failed", &about);
        }
        let (mut status, mut range, mut start, mut stop) =
            ("200 OK", String::new(), 0, served.size);
        if let Some(asked) = request.headers.get("range") {
            let Some(found) = byte_range(asked, served.size) else {
                return send_empty(stream, "416 Range Not Satisfiable", &about);
            };
            (start, stop) = found;
            status = "206 Partial Content";
            range = format!("Content-Range: bytes {start}-{}/{}\r\n", stop - 1, served.size);
        }
        let length = stop - start;
        let head = format!("HTTP/1.1 {status}\r\n{about}{range}Content-Length: {length}\r\n\r\n");
        if request.method == "HEAD" {
            stream.write_all(head.as_bytes())?;
            return Ok(true);
        }
        if fault == Some(Fault::Cut) {
            stop = start + length / 2;
        }
        // One write for a small answer.
        let mut buffer = head.into_bytes();
        let mut offset = start;
        loop {
            let piece = PIECE.min(stop - offset);
            let begin = buffer.len();
            buffer.resize(begin + piece as usize, 0);
            served.read(offset, &mut buffer[begin..])?;
            limit.wait(self.since, piece, self.connection_rate.load(Relaxed));
            self.limit.wait(self.since, piece, self.rate.load(Relaxed));
            stream.write_all(&buffer)?;
            self.numbers.bytes.fetch_add(piece, Relaxed);
            buffer.clear();
            offset += piece;
            if offset == stop {
                return Ok(fault.is_none());
            }
        }
    }

    /// Returns the fault of this request, if it has one.
    fn fault(&self) -> Option<Fault> {
        let number = self.requests.fetch_add(1, Relaxed);
        let every = self.fail_every.load(Relaxed);
        if every == 0 || number % every != every - 1 {
            return None;
        }
        self.numbers.failed.fetch_add(1, Relaxed);
        Some([Fault::Throttle, Fault::Cut, Fault::Close][(number / every % 3) as usize])
    }

    fn control(&self, mut stream: &TcpStream, path: &str) -> io::Result<()> {
        if let Some(options) = path.strip_prefix("/.set?") {
            let set = |pair: &str| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                self.set(name, value)
            };
            if options.split('&').any(|pair| set(pair).is_err()) {
                return send_empty(stream, "400 Bad Request", "").map(|_| ());
            }
        }
        let numbers = &self.numbers;
        let named = [
            ("requests", &numbers.requests),
            ("bytes", &numbers.bytes),
            ("failed", &numbers.failed),
            ("connections", &numbers.connections),
            ("most_at_once", &numbers.most_at_once),
        ];
        let is_reset = path == "/.reset";
        let pairs = named.map(|(name, number)| {
            let value = if is_reset { number.swap(0, Relaxed) } else { number.load(Relaxed) };
            format!("\"{name}\": {value}")
        });
        let body = format!("{{{}}}", pairs.join(", "));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes())
    }
}

fn send_empty(mut stream: &TcpStream, status: &str, headers: &str) -> io::Result<bool> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(true)
}

/// Reads a request without body; `None` if the client has closed the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    let mut bounded = reader.take(LARGEST_HEADER);
    loop {
        let mut line = String::new();
        if bounded.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let mut words = lines.first().map(|line| line.split(' ')).into_iter().flatten();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let pairs = lines[1..].iter().filter_map(|line| line.split_once(':'));
    let headers =
        pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), headers }))
}

/// Returns the first byte and the last byte + 1 of a range; `None` if there are none.
fn byte_range(header: &str, size: u64) -> Option<(u64, u64)> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let (start, stop) = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) => (first, size.min(last.checked_add(1)?)),
        (Ok(first), Err(_)) if last.is_empty() => (first, size),
        (Err(_), Ok(last)) if first.is_empty() => (size.saturating_sub(last), size),
        _ => return None,
    };
    (start < stop).then_some((start, stop))
}
