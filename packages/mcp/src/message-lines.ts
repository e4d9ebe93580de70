// What a process writes to its standard output: a message is a line of JSON, and whatever else comes is kept to be shown.
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { parseJson } from "@proviso/core/provider";
import { lastText } from "@proviso/node/internal";
import { beginningOf, endOf, type Secrets } from "@proviso/runtime/internal";
import { deepestMessage, insteadOf } from "./corrected-answers.ts";
import type { Sdk } from "./sdk.ts";
import { visibleText } from "./visible-text.ts";

/** Bytes of what is no message that are kept, and UTF-16 units of them that a message shows. */
const [keptOdd, shownOdd] = [8_192, 1_000];
/** UTF-16 units of one line that an error shows. */
const shownLine = 300;
const lineFeed = 10;

/** What a chunk completed. */
export interface Arrived {
  readonly messages: readonly JSONRPCMessage[];
  /** Why JSON was no message, one each. */
  readonly faults: readonly Error[];
  /** Whether a line was no message. */
  readonly isOdd: boolean;
}

/** Makes messages of chunks. */
export class MessageLines {
  readonly #sdk: Sdk;
  readonly #secrets: Secrets | undefined;
  readonly #odd;
  #rest: Buffer[] = [];
  #length = 0;

  constructor(sdk: Sdk, secrets: Secrets | undefined) {
    this.#sdk = sdk;
    this.#secrets = secrets;
    this.#odd = lastText(keptOdd, { beside: secrets?.beside, seen: visibleText });
  }

  /** @throws {RangeError} for a line that is longer than a message may be. */
  take(chunk: Buffer): Arrived {
    const messages: JSONRPCMessage[] = [];
    const faults: Error[] = [];
    let [from, isOdd] = [0, false];
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString();
      [this.#rest, this.#length, from] = [[], 0, end + 1];
      if (line.trim() === "") continue;
      const read = this.#messageIn(line);
      if ("message" in read) messages.push(read.message);
      else {
        isOdd = true;
        this.#odd.add(Buffer.from(`${line}\n`));
        if (!(read.fault instanceof SyntaxError)) faults.push(read.fault);
        const shown = beginningOf(visibleText(line), shownLine, this.#secrets).toWellFormed();
        const json = parseJson(line, { maxDepth: deepestMessage, maxLength: line.length });
        const answer = insteadOf(json.ok ? json.value : undefined, `it is not of the protocol: ${shown}`);
        if (answer !== undefined) messages.push(answer);
      }
    }
    this.#keep(chunk.subarray(from));
    return { messages, faults, isOdd };
  }

  /** The end of what was no message, as people see it, a line that has not ended included; empty: there is none. */
  odd(): string {
    // The whole is made visible before it is cut: what people do not see may be longer than what is kept.
    const rest = visibleText(Buffer.concat(this.#rest).toString());
    return endOf(`${this.#odd.text()}${rest}`.trim(), shownOdd, this.#secrets).toWellFormed();
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#rest.push(rest);
    this.#length += rest.length;
    const most = this.#sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE;
    if (this.#length > most) throw new RangeError(`A line is longer than ${most} bytes.`);
  }

  #messageIn(line: string): { readonly message: JSONRPCMessage } | { readonly fault: Error } {
    try {
      return { message: this.#sdk.deserializeMessage(line) };
    } catch (error) {
      return { fault: error as Error };
    }
  }
}
