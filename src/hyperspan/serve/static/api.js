// Requests to the server: the newest one counts, a busy server is asked again, a key is asked for when one is needed.

const KEY = "hyperspan-api-key";

/** What went wrong, in a sentence for the reader. `busy`: seconds after which to try again. */
export class ServerError extends Error {
  constructor(message, { status = 0, code = "", busy = null, answer = {} } = {}) {
    super(`${message[0].toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`);
    Object.assign(this, { status, code, busy, answer });
  }
}

export class Server {
  /** `askKey` shows a dialog and gives the key that was typed, or null. */
  constructor(askKey) {
    this.askKey = askKey;
  }

  models() {
    return this.#send("GET", "/v1/models");
  }
  annotate(body, signal) {
    return this.#send("POST", "/v1/annotate", body, signal);
  }
  hypergraph(body, signal) {
    return this.#send("POST", "/v1/hypergraph", body, signal);
  }

  async #send(method, path, body, signal) {
    const key = sessionStorage.getItem(KEY);
    try {
      return await send(method, path, body, key ? { "X-API-Key": key } : {}, signal);
    } catch (error) {
      const typed = error.status === 401 ? await this.askKey(Boolean(key)) : null;
      if (!typed) throw error;
      sessionStorage.setItem(KEY, typed);
      return this.#send(method, path, body, signal);
    }
  }
}

/** What the server answers to one request; a ServerError where it refuses or is not there. */
export async function send(method, path, body, credentials, signal) {
  const headers = { Accept: "application/json", ...credentials };
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), cache: "no-store" });
    if (response.ok) return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. It may have stopped, or the connection is down.");
  }
  throw await refusal(response);
}

async function refusal(response) {
  const given = await response.json().catch(() => ({}));
  const again = Number(response.headers.get("Retry-After"));
  const message = given.error?.message ?? `The server answered ${response.status}, and not why.`;
  const isBusy = response.status === 503 || response.status === 429;
  const busy = isBusy ? Math.min(Math.max(again || 1, 0.2), 60) : null;
  return new ServerError(message, { status: response.status, code: given.error?.code, busy, answer: given });
}

/** What to say while the server is asked again. */
export function busyText({ code, busy }) {
  const why = code === "not_ready" ? "The models are being loaded" : "The server is busy";
  return `${why}; trying again in ${busy <= 1 ? "a second" : `${Math.ceil(busy)} seconds`}.`;
}

/** Runs one task at a time: a new one stops the one before, whose result is then never seen. */
export class Latest {
  #running = null;

  /** The result of `task(signal)`, tried again while the server is busy; undefined if a newer task came. */
  async run(task, onBusy = () => {}) {
    this.stop();
    const mine = (this.#running = new AbortController());
    try {
      for (;;) {
        try {
          const result = await task(mine.signal);
          return mine.signal.aborted ? undefined : result;
        } catch (error) {
          if (mine.signal.aborted) return undefined;
          if (!(error instanceof ServerError) || error.busy === null) throw error;
          onBusy(error);
          await new Promise((done) => setTimeout(done, error.busy * 1000));
          if (mine.signal.aborted) return undefined;
        }
      }
    } finally {
      if (this.#running === mine) this.#running = null;
    }
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
  }

  get busy() {
    return this.#running !== null;
  }
}
