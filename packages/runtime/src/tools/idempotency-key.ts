import type { ToolCall } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { shortHash } from "@proviso/core/internal";
import type { Run } from "../run.ts";

/**
 * The key of a call: the first 128 bits of the SHA-256 of where it stands and what it asks, in base64url. Ids that a model
 * or a process makes up are not in it, so that the call has the same key whenever its run goes on. It is made where it is
 * read: few handlers do, and it takes longer than the rest of a call's record.
 */
export class CallKey {
  readonly #place: string;
  readonly #turn: number;
  readonly #number: number;
  readonly #call: ToolCall;
  #value: string | undefined;

  constructor(run: Run, call: ToolCall) {
    this.#place = placeOf(run);
    this.#turn = run.turn;
    this.#number = run.callsBefore + Math.max(0, run.calls.indexOf(call));
    this.#call = call;
    this.#value = run.nesting === undefined ? run.tape?.keyOf(run, call) : undefined;
  }

  get value(): string {
    const { name } = this.#call;
    return (this.#value ??= shortHash([this.#place, this.#turn, this.#number, name, argumentsOf(this.#call)]));
  }
}

/** The run, and the calls and evaluations that the evaluation is inside of. */
function placeOf({ nesting, tape, evaluationId }: Run): string {
  if (nesting === undefined) return tape?.runId ?? evaluationId;
  return `${nesting.idempotencyKey?.() ?? placeOf(nesting.run)} ${nesting.ordinal ?? 0}`;
}

/** The arguments as JSON; a text that is none as it is. */
function argumentsOf({ arguments: given }: ToolCall): unknown {
  const parsed = parseJson(given, { maxLength: Infinity, maxDepth: Infinity });
  return parsed.ok ? parsed.value : given;
}
