import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { parseJson } from "@proviso/core/provider";
import { largestOutput } from "../run-command.ts";
import type { GroupProcess } from "@proviso/node/internal";
import { beginningOf, type Secrets } from "@proviso/runtime/internal";

/** What an agent printed is no message of the protocol, or too much. */
export class WireError extends Error {
  override readonly name = "WireError";
  /** What it printed, as far as it is kept. */
  readonly printed: string;
  constructor(message: string, printed = "") {
    super(message);
    this.printed = printed;
  }
}

const limits = { maxDepth: 256, maxLength: largestOutput };
/** Requests of the agent, leave that it asks for above all, that wait for our answer or for being read. */
const mostUnanswered = 1_000;
/** Characters of a line, or of another text of the agent, that are shown. */
const shownLength = 200;
/** Characters of it that are kept. */
const keptLength = 4_096;

/**
 * The agent's standard input and output as a stream of messages, one a line. A session's updates go to `onUpdate`, in the
 * order in which they come, before whatever comes after them is seen. A line that is no JSON-RPC message ends the
 * stream with a WireError: nothing else may stand on standard output (https://agentclientprotocol.com, "Transports").
 * So does an agent that asks more than is answered: 1,000 requests, or 16 MiB of them. What answers nothing that was
 * asked, and a notification of any other kind, is passed over: the SDK would print it.
 */
export function wireOf(
  { stdout, write }: GroupProcess,
  onUpdate: (update: unknown) => void,
  secrets: Secrets | undefined,
): Stream {
  const unanswered = new Unanswered();
  const asked = new Set<unknown>();
  const readable = ReadableStream.from(
    messagesOf(stdout, { unanswered, asked, onUpdate, secrets }),
  ) as ReadableStream<AnyMessage>;
  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      if ("id" in message && "method" in message) asked.add(message.id);
      await write(`${JSON.stringify(message)}\n`);
      if ("id" in message && !("method" in message)) unanswered.answered(message.id);
    },
  });
  return { readable, writable };
}

/** The agent's requests that wait for our answer, with the bytes of each. */
class Unanswered {
  /** The sizes of requests by their id, which an agent may use twice. */
  readonly #sizes = new Map<unknown, number[]>();
  #count = 0;
  #bytes = 0;

  /** @throws {WireError} for one too many. */
  asked(id: unknown, bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
    if (this.#count > mostUnanswered) {
      throw new WireError(`asked for more than ${mostUnanswered} things without waiting for an answer`);
    }
    if (this.#bytes > largestOutput) {
      throw new WireError(`asked for things in more than ${largestOutput} bytes without waiting for an answer`);
    }
    const same = this.#sizes.get(id);
    if (same === undefined) this.#sizes.set(id, [bytes]);
    else same.push(bytes);
  }

  answered(id: unknown): void {
    const same = this.#sizes.get(id);
    const bytes = same?.shift();
    if (bytes === undefined) return;
    this.#count -= 1;
    this.#bytes -= bytes;
    if (same?.length === 0) this.#sizes.delete(id);
  }
}

interface Reading {
  readonly unanswered: Unanswered;
  /** The ids of our own requests that the agent has not answered. */
  readonly asked: Set<unknown>;
  readonly onUpdate: (update: unknown) => void;
  readonly secrets: Secrets | undefined;
}

async function* messagesOf(
  stdout: AsyncIterable<Buffer>,
  { unanswered, asked, onUpdate, secrets }: Reading,
): AsyncGenerator<AnyMessage, void> {
  for await (const line of linesOf(stdout)) {
    const message = messageIn(line, secrets);
    if (message === undefined) continue;
    const { method, id } = message;
    if (method === "session/update" && !("id" in message)) onUpdate(message["params"]);
    if (method === undefined ? !asked.delete(id) : !("id" in message) && method !== cancelRequest) continue;
    if (method !== undefined && "id" in message) unanswered.asked(id, line.length);
    yield message as AnyMessage;
  }
}

/** The notification by which an agent takes a request of its own back. */
const cancelRequest = "$/cancel_request";

async function* linesOf(stdout: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdout) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]);
      from = end + 1;
      rest = [];
      length = 0;
    }
    rest.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > largestOutput) throw new WireError(`printed a line of more than ${largestOutput} bytes`);
  }
  if (length > 0) yield Buffer.concat(rest);
}

type Json = Readonly<Record<string, unknown>>;

/** A text of the agent as far as it is shown in a message. */
export function shownOf(text: string, secrets: Secrets | undefined): string {
  return text.length > shownLength ? `${beginningOf(text, shownLength, secrets)}…` : text;
}

function messageIn(line: Buffer, secrets: Secrets | undefined): Json | undefined {
  const text = line.toString().trim();
  if (text === "") return undefined;
  const json = parseJson(text, limits);
  if (json.ok && isMessage(json.value)) return json.value;
  const message = `printed a line that is no message of the protocol: ${JSON.stringify(shownOf(text, secrets))}`;
  throw new WireError(message, beginningOf(text, keptLength, secrets));
}

function isMessage(value: unknown): value is Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if ("method" in value) return typeof value.method === "string";
  return "id" in value && ("result" in value || "error" in value);
}
