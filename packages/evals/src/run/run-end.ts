// Why a run ended before everything was made, and what that ends.
import { Unsettled } from "../bounded.ts";
import type { EvalReport } from "../results.ts";

/** The end of one run. The first reason stands. */
export class RunEnd {
  readonly #stop = new AbortController();
  readonly #given: AbortSignal | undefined;
  readonly #onAbort = (): void => this.end("aborted", "The run was aborted.");
  #fault: { readonly error: unknown } | undefined;
  /** What fires when what is in flight is to end, too. */
  readonly signal: AbortSignal;
  /** Why it ended; undefined: it goes on, or everything was made. */
  ended: EvalReport["ended"];

  constructor(given: AbortSignal | undefined) {
    this.#given = given;
    // A joined signal costs more to listen to, and each attempt listens.
    this.signal = given === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, given]);
    if (given?.aborted === true) this.#onAbort();
    given?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.ended !== undefined;
  }

  /** What is in flight goes on, and is kept: its cost is paid already. A systemic failure, which all of it shares, ends it. */
  end(why: NonNullable<EvalReport["ended"]>["why"], message: string): void {
    if (this.ended !== undefined) return;
    this.ended = { why, message };
    if (why === "systemic") this.#stop.abort();
  }

  /**
   * A store that fails ends the run: what is asked could not be kept. What is in flight is aborted. After an abort one that
   * does not settle changes nothing: what it does not have is not done.
   */
  break(error: unknown): void {
    if (error instanceof Unsettled && error.why === "aborted") return;
    this.#fault ??= { error };
    this.ended ??= { why: "aborted", message: "The store of attempts failed." };
    this.#stop.abort();
  }

  /** @throws what broke the run. */
  assertSound(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }

  /** Listens no more. */
  close(): void {
    this.#given?.removeEventListener("abort", this.#onAbort);
  }
}
