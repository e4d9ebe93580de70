// A secret may become known while an answer arrives: a call of an agent begins an evaluation that has one.
//
// 1. The text that was shown since it was taken back last is what the received text begins with, less all secrets that are
//    known.
// 2. Only whole characters are shown: half of a surrogate pair waits for its other half, which may come in the next delta.
//    One without another is U+FFFD, as it is on the wire.
// 3. It is taken back only where it would be shown otherwise with the secrets that are known now.
import type { Secrets } from "../secrets.ts";
import type { Pieces } from "../secrets/pieces.ts";
import { withoutLastHalf } from "../well-formed.ts";

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
  readonly #takeBack: () => void;
  #secrets: Secrets | undefined;
  readonly #texts: Readonly<Record<Kind, ShownText>>;

  /** `known`: the secrets that are known now. */
  constructor(known: () => Secrets | undefined, { show, takeBack }: Showing) {
    this.#known = known;
    this.#takeBack = takeBack;
    this.#secrets = known();
    const shown = (kind: Kind): ShownText => new ShownText(this.#secrets, (text) => show(kind, text));
    this.#texts = { reasoning: shown("reasoning"), text: shown("text") };
  }

  received(kind: Kind): string {
    return this.#texts[kind].received;
  }

  add(kind: Kind, text: string): void {
    this.#learn();
    this.#texts[kind].add(text);
  }

  /** Shows what was held back. */
  end(kind: Kind): void {
    this.#learn();
    this.#texts[kind].end();
  }

  /** Forgets what was received. */
  reset(): void {
    for (const text of Object.values(this.#texts)) text.reset();
  }

  #learn(): void {
    const secrets = this.#known();
    if (secrets === this.#secrets) return;
    this.#secrets = secrets;
    const texts = Object.values(this.#texts);
    // Both have to learn, whatever the first one answers.
    if (texts.map((text) => text.learn(secrets)).every((isRight) => isRight)) return;
    this.#takeBack();
    for (const text of texts) text.showAgain();
  }
}

/** The text or the thoughts, as far as they were received; what may become a secret is held back. */
class ShownText {
  received = "";
  readonly #emit: (text: string) => void;
  #secrets: Secrets | undefined;
  #pieces: Pieces | undefined;
  #shown = "";
  #half = "";
  #isAtEnd = false;

  constructor(secrets: Secrets | undefined, emit: (text: string) => void) {
    this.#emit = emit;
    this.#secrets = secrets;
    this.#pieces = secrets?.pieces();
  }

  add(text: string): void {
    this.received += text;
    this.#show(this.#pieces === undefined ? text : this.#pieces.add(text));
  }

  end(): void {
    this.#isAtEnd = true;
    if (this.#pieces !== undefined) this.#show(this.#pieces.end());
    this.#emitWhole("");
  }

  /** Whether what was shown would be shown with these secrets, too. */
  learn(secrets: Secrets | undefined): boolean {
    const shown = this.#pieces === undefined ? this.received : this.#shown;
    this.#secrets = secrets;
    this.#pieces = secrets?.pieces();
    this.#shown = this.#pieces?.add(this.received) ?? this.received;
    if (this.#isAtEnd) this.#shown += this.#pieces?.end() ?? "";
    return this.#shown === shown;
  }

  /** Shows it from its beginning, as far as `learn` has read it. */
  showAgain(): void {
    this.#half = "";
    this.#emitWhole(this.#shown);
  }

  reset(): void {
    this.received = this.#shown = this.#half = "";
    this.#isAtEnd = false;
    this.#pieces = this.#secrets?.pieces();
  }

  #show(text: string): void {
    if (text === "") return;
    if (this.#pieces !== undefined) this.#shown += text;
    this.#emitWhole(text);
  }

  /** Emits the whole characters; at the end of the text also a half without another. */
  #emitWhole(text: string): void {
    const all = this.#half + text;
    const whole = this.#isAtEnd ? all : withoutLastHalf(all);
    this.#half = all.slice(whole.length);
    if (whole !== "") this.#emit(whole.toWellFormed());
  }
}
