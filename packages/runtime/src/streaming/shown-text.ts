// 1. What was shown since the last revision is what the received text begins with, less all secrets that are known: a
//    secret may become known while the text arrives, because a call of an agent begins an evaluation that has one.
// 2. Text that was shown before is taken back only where it would show such a secret, or would be shown otherwise.
import type { Secrets } from "../secrets.ts";

type Kind = "text" | "reasoning";

/** Where the texts of an answer are shown. */
export interface Showing {
  show(kind: Kind, text: string): void;
  /** Takes back whatever was shown; it is shown again, without the secrets. */
  takeBack(): void;
}

/** The text and the thoughts of an answer, as they arrive. */
export class ShownAnswer {
  readonly #known: () => Secrets | undefined;
  readonly #showing: Showing;
  #secrets: Secrets | undefined;
  readonly #text: ShownText;
  readonly #reasoning: ShownText;

  /** `known`: the secrets that are known now. */
  constructor(known: () => Secrets | undefined, showing: Showing) {
    this.#known = known;
    this.#showing = showing;
    this.#secrets = known();
    this.#text = new ShownText(this.#secrets, (text) => showing.show("text", text));
    this.#reasoning = new ShownText(this.#secrets, (text) => showing.show("reasoning", text));
  }

  get received(): Readonly<Record<Kind, string>> {
    return { text: this.#text.received, reasoning: this.#reasoning.received };
  }

  add(kind: Kind, text: string): void {
    this.#learn();
    if (!this.#of(kind).add(text)) this.#revise();
  }

  /** Shows what was held back. */
  end(kind: Kind): void {
    this.#learn();
    if (!this.#of(kind).end()) this.#revise();
  }

  /** Forgets what was received. */
  reset(): void {
    this.#text.reset();
    this.#reasoning.reset();
  }

  #of(kind: Kind): ShownText {
    return kind === "text" ? this.#text : this.#reasoning;
  }

  #learn(): void {
    const secrets = this.#known();
    if (secrets === this.#secrets) return;
    this.#secrets = secrets;
    const isRight = this.#reasoning.learn(secrets);
    if (!this.#text.learn(secrets) || !isRight) this.#revise();
  }

  #revise(): void {
    this.#showing.takeBack();
    this.#reasoning.showAgain();
    this.#text.showAgain();
  }
}

/** The text or the thoughts, as far as they were received; what may become a secret is held back. */
class ShownText {
  received = "";
  readonly #emit: (text: string) => void;
  #secrets: Secrets | undefined;
  #pieces: ReturnType<Secrets["pieces"]> | undefined;
  #shown = "";
  /** Shown already, and given once more by the pieces that know more secrets. */
  #again = "";
  #isAtEnd = false;

  constructor(secrets: Secrets | undefined, emit: (text: string) => void) {
    this.#secrets = secrets;
    this.#emit = emit;
    this.#pieces = secrets?.pieces();
  }

  /** Returns false where what was shown is no longer what the text begins with: take it back, then `showAgain`. */
  add(text: string): boolean {
    this.received += text;
    return this.#show(this.#pieces === undefined ? text : this.#pieces.add(text));
  }

  /** Shows what was held back; returns what `add` returns. */
  end(): boolean {
    this.#isAtEnd = true;
    return this.#pieces === undefined || this.#show(this.#pieces.end());
  }

  /** More secrets are known; returns what `add` returns. */
  learn(secrets: Secrets | undefined): boolean {
    const shown = this.#pieces === undefined ? this.received : this.#shown;
    this.#begin(secrets);
    this.#shown = this.#again = shown;
    return this.#show(this.#pieces === undefined ? this.received : this.#pieces.add(this.received));
  }

  showAgain(): void {
    this.#begin(this.#secrets);
    this.#show(this.#pieces === undefined ? this.received : this.#pieces.add(this.received));
    if (this.#isAtEnd) this.end();
  }

  reset(): void {
    this.received = "";
    this.#isAtEnd = false;
    this.#begin(this.#secrets);
  }

  #begin(secrets: Secrets | undefined): void {
    this.#secrets = secrets;
    this.#pieces = secrets?.pieces();
    this.#shown = this.#again = "";
  }

  #show(given: string): boolean {
    const again = this.#again;
    if (again !== "" && !given.startsWith(again) && !again.startsWith(given)) return false;
    this.#again = again.slice(given.length);
    const text = given.slice(again.length);
    if (text === "") return true;
    if (this.#pieces !== undefined) this.#shown += text;
    this.#emit(text);
    return true;
  }
}
