// The requests of a run, as its record has them: hashes of what each has that the one before it did not have.
import type { Message, ModelRequest } from "@proviso/core";
import { shortHash } from "@proviso/core/internal";
import { internalsOf } from "../nested/adapter-internals.ts";
import type { Run } from "../run.ts";
import type { Difference } from "./compare.ts";
import type { EntryBase, EntryOf } from "./entries.ts";
import { messageHash, restHashes, restNames, textHash } from "./hashes.ts";
import { MadeEntry } from "./kept-entry.ts";

type Asked = Pick<EntryOf<"asked">, "same" | "hashes">;

/** What a request has now. */
interface AskedNow extends Asked {
  /** How many of the hashes are of messages; the others are those of `restNames`. */
  readonly messages: number;
}

/** What a request has beside its messages. */
type Rest = Pick<ModelRequest, "tools" | "toolChoice" | "output">;

/** What a hash is made of, without secrets; undefined: there are none. */
type Hide = ((text: string) => string) | undefined;

/** The last request of an evaluation. */
interface LastRequest {
  messages: readonly Message[];
  /** The hash of each message with all before it. */
  readonly sums: string[];
  rest: Rest;
}

/** What a request has that the one before it did not have; the hashes are made where they are asked for. */
export class NewInRequest {
  readonly same: number;
  readonly #messages: readonly Message[];
  /** undefined: the tools, the choice and the output are those of the request before. */
  readonly #rest: Rest | undefined;
  readonly #hide: Hide;
  /** Ids that are made up inside a call are in no record, and are others when it is run again. */
  readonly #isInside: boolean;

  constructor(same: number, messages: readonly Message[], rest: Rest | undefined, hide: Hide, isInside = false) {
    this.#isInside = isInside;
    this.same = same;
    this.#messages = messages;
    this.#rest = rest;
    this.#hide = hide;
  }

  now(): AskedNow {
    const hashes = this.#messages.map((message) => messageHash(message, this.#hide, this.#isInside ? noId : sameId));
    const rest = this.#rest === undefined ? [] : restHashes(this.#rest, this.#hide);
    return { same: this.same, hashes: [...hashes, ...rest], messages: hashes.length };
  }
}

/** Where a request stands. */
interface Place {
  readonly turn: number;
  readonly attempt: number;
  readonly isAgent: boolean;
  /** undefined: it is not inside a call. */
  readonly key: string | undefined;
}

/** The entry of a request. */
export class AskedEntry extends MadeEntry {
  readonly kind = "asked";
  readonly turn: number;
  readonly try: number;
  override readonly isAgent: boolean;
  readonly #key: string | undefined;
  readonly #request: NewInRequest;

  constructor({ turn, attempt, isAgent, key }: Place, request: NewInRequest) {
    super();
    this.turn = turn;
    this.try = attempt;
    this.isAgent = isAgent;
    this.#key = key;
    this.#request = request;
  }

  content(): Omit<EntryOf<"asked">, keyof EntryBase> {
    const { same, hashes } = this.#request.now();
    return {
      kind: "asked",
      turn: this.turn,
      try: this.try,
      same,
      hashes,
      ...(this.isAgent ? { isAgent: true } : {}),
      ...(this.#key === undefined ? {} : { key: this.#key }),
    };
  }
}

const noMessages: readonly never[] = Object.freeze([]);

/** Finds what each request has that the one before it did not have. */
export class RequestHashes {
  readonly #last = new Map<string, LastRequest>();

  of(run: Run, request: ModelRequest | undefined): NewInRequest {
    if (request === undefined) return new NewInRequest(0, noMessages, undefined, undefined);
    const { tools, toolChoice, output } = request;
    const messages = run.files?.messagesBefore(request) ?? request.messages;
    const last = this.#last.get(run.evaluationId);
    const hide = hideOf(run);
    const same = last === undefined ? 0 : sameMessages(last.messages, messages);
    const isSameRest = last !== undefined && last.rest.tools === tools;
    const rest = isSameRest ? last.rest : { tools, toolChoice, output };
    // The whole history is not kept with each of its requests.
    const made = new NewInRequest(same, messages.slice(same), isSameRest ? undefined : rest, hide, run.isInside);
    if (last === undefined) {
      this.#last.set(run.evaluationId, { messages, rest, sums: run.isInside ? sumsOf([], made.now()) : [] });
      return made;
    }
    if (run.isInside) sumsOf(last.sums, made.now());
    last.messages = messages;
    last.rest = rest;
    return made;
  }

  /** What the last request of an evaluation inside a call was, and where that stands: the same in every run. */
  key(run: Run): InsideKey | undefined {
    const last = this.#last.get(run.evaluationId);
    if (last === undefined) return undefined;
    const model = internalsOf(run.adapter)?.facts.model;
    const rest = restHashes(last.rest, hideOf(run));
    const request = shortHash([placeInside(run), run.turn, last.sums.at(-1) ?? null, rest]);
    return { request, whole: `${request}.${textHash(`${run.adapter.name} ${model}`)}` };
  }

  /** Takes a request as a whole, whatever the one before had. */
  whole(run: Run, request: ModelRequest | undefined): NewInRequest {
    this.#last.delete(run.evaluationId);
    return this.of(run, request);
  }

  /** Returns where a request differs from the recorded one. */
  difference(recorded: Asked, now: AskedNow): Omit<Difference, "what"> | undefined {
    if (recorded.same !== now.same) return { path: "messages", recorded: recorded.same, now: now.same };
    const length = Math.max(recorded.hashes.length, now.hashes.length);
    for (let at = 0; at < length; at++) {
      const [before, after] = [recorded.hashes[at], now.hashes[at]];
      if (before === after) continue;
      // Three more hashes than messages are those of the rest; any other number are more messages.
      const isRest = at >= now.messages && length - now.messages === restNames.length;
      const path = isRest ? restNames[at - now.messages] : undefined;
      return { path: path ?? `messages[${now.same + at}]`, recorded: before, now: after };
    }
    return undefined;
  }
}

/** What identifies a request of an evaluation inside a call. */
interface InsideKey {
  readonly request: string;
  /** The key with the adapter and the model that are asked, as the record has it. */
  readonly whole: string;
}

/** The request that a key of a record is of, whatever model was asked. */
export function requestOfKey(key: string): string {
  return key.split(".")[0] ?? key;
}

/** The calls that an evaluation is inside of, and which of their evaluations it is. */
function placeInside({ nesting }: Run): string {
  if (nesting === undefined) return "";
  const { run, callId, ordinal = 0 } = nesting;
  const place = run.callsBefore + run.calls.findIndex(({ id }) => id === callId);
  return `${placeInside(run)} ${run.turn}.${place}.${ordinal}`;
}

const sameId = (id: string): string => id;
const noId = (): string => "";

function hideOf({ world, redaction }: Run): Hide {
  return world.secrets === undefined ? undefined : redaction.value;
}

/** Each hash with those before it; the list is gone on with. */
function sumsOf(sums: string[], { same, hashes, messages }: AskedNow): string[] {
  sums.length = same;
  for (const hash of hashes.slice(0, messages)) sums.push(textHash(`${sums.at(-1) ?? ""} ${hash}`));
  return sums;
}

/** How many messages two requests begin with. A history that only grew is not looked through. */
function sameMessages(before: readonly Message[], now: readonly Message[]): number {
  const last = before.length - 1;
  if (before[0] === now[0] && before[last] === now[last]) return before.length;
  const differs = before.findIndex((message, index) => message !== now[index]);
  return differs === -1 ? before.length : differs;
}
