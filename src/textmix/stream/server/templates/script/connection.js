// The server: requests with the token, server-sent events by a reader (so that a header can be sent), and coming back.

const TOKEN_KEY = "textmix-token";
const FIRST_PAUSE = 500; // milliseconds before the first new attempt
const LONGEST_PAUSE = 10000;
const SILENCE = 45000; // three heartbeats that did not come

let token = sessionStorage.getItem(TOKEN_KEY) || "";
const tokenForm = byId("token-form");

class Unauthorised extends Error {}

/** A request to our own server; throws if it is not answered with what was asked for. */
async function ask(path, headers = {}, signal = undefined) {
  if (token) headers = { ...headers, Authorization: `Bearer ${token}` };
  const response = await fetch(path, { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  if (response.status === 401) throw new Unauthorised();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

const askJson = async (path) => (await ask(path)).json();

function showConnection(state, text) {
  const place = byId("connection");
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  byId("connection-text").textContent = text;
}

/** Shows the form until a token has been entered. */
function askForToken(wrong) {
  showConnection("token", "Waiting for the token");
  byId("token-wrong").textContent = wrong;
  byId("stream").hidden = true;
  tokenForm.hidden = false;
  byId("token").focus();
  return new Promise((resolve) => {
    tokenForm.addEventListener("submit", (event) => {
      event.preventDefault();
      token = byId("token").value.trim();
      sessionStorage.setItem(TOKEN_KEY, token);
      byId("token").value = "";
      tokenForm.hidden = true;
      byId("stream").hidden = false;
      showConnection("waiting", "Connecting…");
      resolve();
    }, { once: true });
  });
}

/** One server-sent event of its lines. */
function parseEvent(block) {
  const event = { kind: "message", id: null, data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment, or nothing
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event.kind = value;
    else if (field === "id") event.id = value;
    else if (field === "data") event.data += value;
  }
  return event;
}

/** Hands on the events of a response until it ends, or says nothing for long. */
async function readEvents(response, controller, handle) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const timer = setTimeout(() => controller.abort(), SILENCE);
    const { value, done } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const event of blocks.map(parseEvent)) if (event.data) handle(event);
  }
}

/** Waits, less long if the network or the tab comes back. */
function pauseFor(milliseconds) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      document.removeEventListener("visibilitychange", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener("online", end);
    document.addEventListener("visibilitychange", end);
  });
}

/** Listens for ever: after the server was away it goes on where it was. */
async function listen(connected, handle) {
  let lastEvent = null;
  let pause = FIRST_PAUSE;
  if (tokenForm.dataset.needed === "yes" && !token) await askForToken("");
  for (;;) {
    const controller = new AbortController();
    try {
      const response = await ask("events/stream", lastEvent === null ? {} : { "Last-Event-ID": lastEvent }, controller.signal);
      pause = FIRST_PAUSE;
      showConnection("live", "Live");
      connected();
      await readEvents(response, controller, (event) => {
        if (event.id !== null) lastEvent = event.id;
        handle(event.kind, JSON.parse(event.data));
      });
    } catch (error) {
      if (error instanceof Unauthorised) {
        sessionStorage.removeItem(TOKEN_KEY);
        await askForToken(token ? "The server does not know this token." : "");
        continue;
      }
    }
    showConnection("lost", "Not connected; trying again");
    await pauseFor(pause);
    pause = Math.min(pause * 1.6, LONGEST_PAUSE);
  }
}
