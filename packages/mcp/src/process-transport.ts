// 1. One process, in a group of its own: whatever it starts ends with it, also where it exits by itself.
// 2. `onclose` is called once.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import {
  startInGroup,
  whyNotStarted,
  within,
  type Command,
  type Exit,
  type GroupProcess,
} from "@proviso/node/internal";
import { systemClock } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { endOf, type Secrets } from "@proviso/runtime/internal";
import { MessageLines, type Arrived } from "./message-lines.ts";
import type { Sdk } from "./sdk.ts";
import { visibleText } from "./visible-text.ts";

/** UTF-16 units of what a server wrote to standard error that a message shows. */
const shownErrors = 1_000;

/** Milliseconds in which what a server wrote before its end arrives. */
const restMs = 200;

/** Milliseconds in which the answer to `initialize` comes behind a line that is none, of a log say. */
const oddMs = 1_000;

/** A server that is a process of ours: a message is a line of JSON. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** The SDK looks for these two: what has them is a process, whose silence means that it is of an older revision. */
  readonly stderr = null;
  pid: number | null = null;
  /** How it ended; undefined while it runs. */
  exit: Exit | undefined;
  readonly #command: Command;
  readonly #sdk: Sdk;
  readonly #secrets: Secrets | undefined;
  #process: GroupProcess | undefined;
  #isClosed = false;
  /** Whether it was ended while it ran. */
  #isEndedByUs = false;
  /** Whether it has answered anything. */
  hasAnswered = false;
  readonly #lines: MessageLines;
  /** The id of `initialize` as long as it has no answer, and what became of it. */
  #initialize: { readonly id: unknown; isAnsweredOddly: boolean } | undefined;
  /** The end of the connection that a process which lives on has closed. */
  #closedEnd: "input" | "output" | undefined;
  readonly #arrived: JSONRPCMessage[] = [];
  #delivering: Promise<void> | undefined;

  constructor(command: Command, sdk: Sdk, secrets: Secrets | undefined) {
    this.#command = command;
    this.#sdk = sdk;
    this.#secrets = secrets;
    this.#lines = new MessageLines(sdk, secrets);
  }

  start(): Promise<void> {
    const process = startInGroup({ ...this.#command, beside: this.#secrets?.beside, seen: visibleText });
    if (!("write" in process)) {
      this.exit = process;
      return Promise.reject(new Error(this.whyUnusable()));
    }
    this.#process = process;
    process.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    const rest = new Promise<void>((resolve) => process.stdout.once("close", resolve));
    void rest.then(() => this.#endWithout("output", process));
    void process.exited.then(async (exit) => {
      await within(restMs, () => rest);
      await this.#delivering;
      await this.#ended(exit);
    });
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const process = this.#process;
    const { SdkError, SdkErrorCode } = this.#sdk;
    if (process === undefined || this.#isClosed)
      throw new SdkError(SdkErrorCode.NotConnected, "The server is not running.");
    const line = this.#sdk.serializeMessage(message);
    if ("method" in message && message.method === "initialize" && "id" in message)
      this.#initialize = { id: message.id, isAnsweredOddly: false };
    try {
      await process.write(line);
    } catch (cause) {
      void this.#endWithout("input", process);
      throw new SdkError(SdkErrorCode.SendFailed, messageOf(cause), undefined, { cause });
    }
  }

  /** Ends a process that has closed an end of the connection, unless it has just exited. */
  async #endWithout(end: "input" | "output", process: GroupProcess): Promise<void> {
    const exit = await within(restMs, () => process.exited);
    if (exit !== undefined || this.#isClosed) return;
    this.#closedEnd ??= end;
    await this.#delivering;
    await this.close();
  }

  async close(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    // What fails because it has ended is seen a moment before its end.
    const own = this.exit ?? (this.hasAnswered ? undefined : await within(restMs, () => process.exited));
    this.#isEndedByUs ||= own === undefined;
    await this.#ended(own ?? (await process.end()));
  }

  /** Whether it has exited, or could not be started, and nothing here has ended it. */
  get hasEndedByItself(): boolean {
    return this.exit !== undefined && !this.#isEndedByUs;
  }

  /** What it has written that is no message, to be shown; empty: nothing. */
  odd(): string {
    return this.#lines.odd();
  }

  /** Why it cannot be used: the end of a sentence that begins with its name. undefined: it could be. */
  whyUnusable(): string | undefined {
    const { command, cwd } = this.#command;
    if (this.exit?.error !== undefined) return whyNotStarted(this.exit.error, command, cwd);
    if (this.#initialize?.isAnsweredOddly === true)
      return `did not answer with a message of the protocol, but with: ${this.odd()}`;
    if (this.#closedEnd !== undefined) return `closed its standard ${this.#closedEnd}${this.#writtenBefore()}`;
    if (!this.hasEndedByItself) return undefined;
    const { exitCode, signal } = this.exit ?? { exitCode: null, signal: null };
    const ended = signal === null ? `exited with code ${exitCode ?? "unknown"}` : `was killed by ${signal}`;
    return `${ended}${this.#writtenBefore()}`;
  }

  #writtenBefore(): string {
    const errors = this.#process?.stderr().trim() ?? "";
    const written = endOf(errors, shownErrors, this.#secrets).toWellFormed() || this.odd();
    return written === "" ? "." : `, after it had written: ${written}`;
  }

  #read(chunk: Buffer): void {
    let arrived: Arrived;
    try {
      arrived = this.#lines.take(chunk);
    } catch (error) {
      // The message is longer than anyone may send.
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    for (const fault of arrived.faults) this.onerror?.(fault);
    for (const message of arrived.messages) {
      this.hasAnswered = true;
      const isAnswer = "id" in message && !("method" in message);
      if (isAnswer && message.id === this.#initialize?.id) this.#initialize = undefined;
      this.#arrived.push(message);
    }
    if (arrived.isOdd && this.#initialize !== undefined) void this.#endOdd(this.#initialize);
    this.#delivering ??= this.#deliver().finally(() => (this.#delivering = undefined));
  }

  /** Ends what has written a line that is no answer where one to `initialize` was due, unless that comes behind it. */
  async #endOdd(asked: { isAnsweredOddly: boolean }): Promise<void> {
    await systemClock.sleep(oddMs);
    if (this.#initialize !== asked || this.#isClosed) return;
    asked.isAnsweredOddly = true;
    await this.close();
  }

  /** One after the other: the SDK handles a notification a moment later, and an answer at once. */
  async #deliver(): Promise<void> {
    for (let message = this.#arrived.shift(); message !== undefined; message = this.#arrived.shift()) {
      this.onmessage?.(message);
      if (!("id" in message)) await systemClock.sleep(0);
    }
  }

  async #ended(exit: Exit): Promise<void> {
    this.exit ??= exit;
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The rest of its group.
    const ending = this.#process?.end();
    this.onclose?.();
    await ending;
  }
}
