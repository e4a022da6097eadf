// The labelling calls. The secret of the link is kept in this tab only, and leaves the address bar at once.

import { send } from "./api.js";

const TOKEN = "hyperspan-label-token";

/** Takes the token out of the address; a newer one replaces the one that was kept. */
export function takeToken() {
  const address = new URL(location.href), token = address.searchParams.get("token");
  if (!token) return;
  sessionStorage.setItem(TOKEN, token);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

/** The token in what a reader pasted: the whole link, or the token alone. */
export function tokenIn(pasted) {
  return /[?&]token=([^&#\s]+)/.exec(pasted)?.[1] ?? pasted.trim();
}

export class LabelServer {
  /** `askToken` shows a dialog and gives the link that was pasted, or null. */
  constructor(askToken) {
    this.askToken = askToken;
  }

  session() {
    return this.#send("GET", "session");
  }
  item(id) {
    return this.#send("GET", `items/${encodeURIComponent(id)}`);
  }
  decide(id, decision) {
    return this.#send("POST", `items/${encodeURIComponent(id)}/decisions`, decision);
  }
  undo() {
    return this.#send("POST", "undo", {});
  }
  addLabel(label) {
    return this.#send("POST", "labels", { label });
  }

  async #send(method, path, body) {
    const token = sessionStorage.getItem(TOKEN);
    try {
      return await send(method, `/v1/label/${path}`, body, token ? { Authorization: `Bearer ${token}` } : {});
    } catch (error) {
      const pasted = error.status === 401 ? await this.askToken() : null;
      if (!pasted) throw error;
      sessionStorage.setItem(TOKEN, tokenIn(pasted));
      return this.#send(method, path, body);
    }
  }
}
