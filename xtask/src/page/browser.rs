//! Owns the browser: Debian's chromium driven by its chromedriver, over a WebDriver client of our own.
//!
//! Twelve commands are all that is needed; a library for them would add 78 packages to what everybody compiles.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::http::Http;

/// Time for the browser to start, or a page to load, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long something may take to come to be on a page.
const WITHIN: Duration = Duration::from_secs(20);

/// How WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a letter.
pub(super) const TAB: &str = "\u{E004}";
pub(super) const ENTER: &str = "\u{E007}";

/// chromedriver; ended when dropped.
#[derive(Debug)]
pub(super) struct Driver {
    child: Child,
    address: String,
}

/// One browser with a profile of its own; closed when dropped.
#[derive(Debug)]
pub(super) struct Browser {
    http: Http,
    session: String,
    /// What it prefers and can do.
    pub(super) looks: Looks,
    _profile: tempfile::TempDir,
}

/// An element of the page that is shown.
#[derive(Debug, Clone)]
pub(super) struct Element(String);

impl Driver {
    pub(super) fn start() -> Result<Self> {
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start chromedriver\nhint: apt-get install chromium chromium-driver")?;
        let output = child.stdout.take().context("no stdout")?;
        let mut driver = Self { child, address: String::new() };
        let (sender, found) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let port = line.rsplit_once("on port ").map(|(_, rest)| rest.trim_end_matches('.').to_owned());
                if let Some(port) = port.filter(|port| port.parse::<u16>().is_ok_and(|port| port > 0)) {
                    drop(sender.send(port));
                }
            }
        });
        let port = found.recv_timeout(PATIENCE).context("chromedriver does not say where it listens")?;
        driver.address = format!("127.0.0.1:{port}");
        Ok(driver)
    }

    /// A browser that nobody has used.
    pub(super) fn browser(&self, looks: Looks) -> Result<Browser> {
        let profile = tempfile::tempdir()?;
        let directory = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
            "--hide-scrollbars",
            "--window-size=1280,900",
            &directory,
        ];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "pageLoad": 60_000, "script": 60_000 },
        } } });
        let mut http = Http::new(&self.address, PATIENCE);
        let started = answer(http.request("POST", "/session", JSON, capabilities.to_string().as_bytes())?)?;
        let session = started["sessionId"].as_str().context("no session")?.to_owned();
        let mut browser = Browser { http, session, looks, _profile: profile };
        let features = json!([{ "name": "prefers-color-scheme", "value": looks.scheme }]);
        browser.devtools("Emulation.setEmulatedMedia", json!({ "features": features }))?;
        browser.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !looks.has_script }))?;
        Ok(browser)
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// What a browser prefers and can do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    pub(super) scheme: &'static str,
    pub(super) has_script: bool,
}

fn answer(reply: crate::http::Reply) -> Result<Value> {
    let mut body: Value = serde_json::from_slice(&reply.body).context("the browser did not answer with JSON")?;
    let value = body["value"].take();
    if reply.status == 200 {
        return Ok(value);
    }
    let message = value["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    bail!("{}: {message}", value["error"].as_str().unwrap_or("the browser failed"))
}

impl Browser {
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let path = format!("/session/{}{path}", self.session);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        answer(self.http.request(method, &path, JSON, body.as_bytes())?)
    }

    fn devtools(&mut self, command: &str, parameters: Value) -> Result<Value> {
        self.ask("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Goes to an address, and waits until it is loaded.
    pub(super) fn go(&mut self, url: &str) -> Result<()> {
        self.ask("POST", "/url", &json!({ "url": url })).with_context(|| format!("cannot go to {url}")).map(drop)
    }

    pub(super) fn url(&mut self) -> Result<String> {
        Ok(self.ask("GET", "/url", &Value::Null)?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs a script in the page and gives its value. It runs whether the page may run its own or not.
    pub(super) fn run(&mut self, script: &str) -> Result<Value> {
        self.ask("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The same for one that calls back.
    pub(super) fn run_and_wait(&mut self, script: &str) -> Result<Value> {
        self.ask("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    fn try_find(&mut self, selector: &str) -> Result<Option<Element>> {
        let found = self.ask("POST", "/elements", &json!({ "using": "css selector", "value": selector }))?;
        let first = found.as_array().and_then(|found| found.first()).and_then(|element| element[ELEMENT].as_str());
        Ok(first.map(|id| Element(id.to_owned())))
    }

    /// The first element of a selector, once there is one.
    pub(super) fn find(&mut self, selector: &str) -> Result<Element> {
        self.until(&format!("there is {selector}"), |browser| browser.try_find(selector))
    }

    /// A link or button that says this.
    pub(super) fn find_saying(&mut self, kinds: &str, words: &str) -> Result<Element> {
        let find = format!(
            "const wanted = {};
             return [...document.querySelectorAll({})].find(
                 element => element.textContent.trim().replace(/\\s+/g, ' ').startsWith(wanted)) ?? null;",
            json!(words),
            json!(kinds)
        );
        self.until(&format!("there is {kinds} that says {words:?}"), |browser| {
            Ok(browser.run(&find)?[ELEMENT].as_str().map(|id| Element(id.to_owned())))
        })
    }

    /// Clicks, as a person with a mouse.
    pub(super) fn click(&mut self, element: &Element) -> Result<()> {
        self.ask("POST", &format!("/element/{}/click", element.0), &json!({})).map(drop)
    }

    /// Types into a field, in the place of what it holds.
    pub(super) fn type_into(&mut self, element: &Element, text: &str) -> Result<()> {
        self.ask("POST", &format!("/element/{}/clear", element.0), &json!({}))?;
        self.append(element, text)
    }

    /// Types behind what a field holds.
    pub(super) fn append(&mut self, element: &Element, text: &str) -> Result<()> {
        self.ask("POST", &format!("/element/{}/value", element.0), &json!({ "text": text })).map(drop)
    }

    /// Follows a link that says this.
    pub(super) fn follow(&mut self, words: &str) -> Result<()> {
        self.pressed("a", words)
    }

    /// Presses a button that says this.
    pub(super) fn press_button(&mut self, words: &str) -> Result<()> {
        self.pressed("button", words)
    }

    /// A page that is just being replaced by its script may take an element away between finding and clicking it.
    fn pressed(&mut self, kind: &str, words: &str) -> Result<()> {
        self.until(&format!("{kind} that says {words:?} can be clicked"), |browser| {
            let element = browser.find_saying(kind, words)?;
            browser.click(&element).map(Some)
        })
    }

    /// Fills the field of a selector.
    pub(super) fn fill(&mut self, selector: &str, text: &str) -> Result<()> {
        self.until(&format!("{selector} can be filled"), |browser| {
            let Some(field) = browser.try_find(selector)? else { return Ok(None) };
            browser.type_into(&field, text).map(Some)
        })
    }

    /// Clicks the element of a selector.
    pub(super) fn choose(&mut self, selector: &str) -> Result<()> {
        self.until(&format!("{selector} can be clicked"), |browser| {
            let Some(element) = browser.try_find(selector)? else { return Ok(None) };
            browser.click(&element).map(Some)
        })
    }

    /// Forgets who is signed in.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.ask("DELETE", "/cookie", &Value::Null).map(drop)
    }

    /// Presses keys wherever the focus is.
    pub(super) fn press(&mut self, keys: &str) -> Result<()> {
        let mut actions = Vec::new();
        for key in keys.chars() {
            actions.push(json!({ "type": "keyDown", "value": key.to_string() }));
            actions.push(json!({ "type": "keyUp", "value": key.to_string() }));
        }
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.ask("POST", "/actions", &actions).map(drop)
    }

    /// The visible text of the page.
    pub(super) fn text(&mut self) -> Result<String> {
        Ok(self.run("return document.body.innerText;")?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the page says this.
    pub(super) fn says(&mut self, words: &str) -> Result<()> {
        let found = self
            .until(&format!("the page says {words:?}"), |browser| Ok(browser.text()?.contains(words).then_some(())));
        if found.is_err() {
            bail!("the page does not say {words:?}, but:\n{}", self.text().unwrap_or_default());
        }
        Ok(())
    }

    /// Waits until something is there. A page that is just being replaced answers with an error, which counts as not yet.
    pub(super) fn until<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Result<Option<T>>) -> Result<T> {
        let started = Instant::now();
        loop {
            let last = match look(self) {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            if started.elapsed() > WITHIN {
                let url = self.url().unwrap_or_default();
                let why = last.map_or_else(String::new, |error| format!(" ({error:#})"));
                bail!("it did not come to be that {what}, at {url}{why}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes the window this large.
    pub(super) fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        self.ask("POST", "/window/rect", &json!({ "width": width, "height": height })).map(drop)
    }

    /// Keeps a picture of the window.
    pub(super) fn picture(&mut self, file: &Path) -> Result<()> {
        let shot = self.ask("GET", "/screenshot", &Value::Null)?;
        let bytes = BASE64_STANDARD.decode(shot.as_str().context("no picture")?)?;
        fs_err::write(file, bytes)?;
        Ok(())
    }

    /// Keeps a picture of the whole page, however long it is.
    pub(super) fn whole_picture(&mut self, file: &Path) -> Result<()> {
        let size = self.run("const page = document.documentElement; return [innerWidth, page.scrollHeight];")?;
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let shot = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.devtools("Page.captureScreenshot", shot)?;
        let bytes = BASE64_STANDARD.decode(shot["data"].as_str().context("no picture")?)?;
        fs_err::write(file, bytes)?;
        Ok(())
    }

    /// What the console complained of since this was asked last: broken policies of the page among it.
    pub(super) fn complaints(&mut self) -> Result<Vec<String>> {
        let entries = self.ask("POST", "/se/log", &json!({ "type": "browser" }))?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let is_one =
            |entry: &Value| entry["level"] == "SEVERE" || entry["message"].to_string().contains("Content Security");
        Ok(entries.iter().filter(|entry| is_one(entry)).map(|entry| entry["message"].to_string()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        drop(self.http.request("DELETE", &path, &[], b""));
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
