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
import type { Sdk } from "./sdk.ts";
import { visibleText } from "./visible-text.ts";

/** UTF-16 units of what a server wrote to standard error that a message shows. */
const shownErrors = 1_000;

/** Milliseconds in which what a server wrote before its end arrives. */
const restMs = 200;

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
  /** The end of the connection that a process which lives on has closed. */
  #closedEnd: "input" | "output" | undefined;
  readonly #arrived: JSONRPCMessage[] = [];
  #delivering: Promise<void> | undefined;

  constructor(command: Command, sdk: Sdk, secrets: Secrets | undefined) {
    this.#command = command;
    this.#sdk = sdk;
    this.#secrets = secrets;
  }

  start(): Promise<void> {
    const process = startInGroup({ ...this.#command, beside: this.#secrets?.beside });
    if (!("write" in process)) {
      this.exit = process;
      return Promise.reject(new Error(this.whyEnded()));
    }
    this.#process = process;
    const buffer = new this.#sdk.ReadBuffer();
    process.stdout.on("data", (chunk: Buffer) => this.#read(buffer, chunk));
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
    if (process !== undefined) await this.#ended(await process.end());
  }

  /** Whether it has ended by itself: what failed because of that may be seen a moment before the end. */
  async hasEnded(): Promise<boolean> {
    const process = this.#process;
    if (process !== undefined && this.exit === undefined) {
      await within(restMs, async () => (this.exit ??= await process.exited));
    }
    return this.exit !== undefined;
  }

  /** Why it is not running: the end of a sentence that begins with its name. */
  whyEnded(): string {
    const { command, cwd } = this.#command;
    if (this.exit?.error !== undefined) return whyNotStarted(this.exit.error, command, cwd);
    const { exitCode, signal } = this.exit ?? { exitCode: null, signal: null };
    const ended = signal === null ? `exited with code ${exitCode ?? "unknown"}` : `was killed by ${signal}`;
    const how = this.#closedEnd === undefined ? ended : `closed its standard ${this.#closedEnd}`;
    const all = this.#process?.stderr().trim() ?? "";
    const written = endOf(visibleText(all), shownErrors, this.#secrets).toWellFormed();
    return `${how}${written === "" ? "." : `, after it had written: ${written}`}`;
  }

  #read(buffer: InstanceType<Sdk["ReadBuffer"]>, chunk: Buffer): void {
    try {
      buffer.append(chunk);
    } catch (error) {
      // The message is longer than anyone may send.
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) break;
        this.#arrived.push(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
    this.#delivering ??= this.#deliver().finally(() => (this.#delivering = undefined));
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
