// 1. What was shown since the last revision is what the received text begins with, less all secrets that are known: a
//    secret may become known while the text arrives, because a call of an agent begins an evaluation that has one.
// 2. Text that was shown before is taken back only where it would show such a secret, or would be shown otherwise.
import type { Secrets } from "../secrets.ts";

/** The text of an answer, or its thoughts, as far as it was received; what may become a secret is held back. */
export class ShownText {
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
