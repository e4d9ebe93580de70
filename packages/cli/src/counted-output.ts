import type { CommandOutput } from "./world.ts";

/** Writes to an output of the process, and knows whether the command has written anything. */
export class CountedOutput implements CommandOutput {
  readonly #output: NodeJS.WriteStream;
  hasWritten = false;

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  get isTTY(): boolean {
    return this.#output.isTTY;
  }

  get columns(): number {
    return this.#output.columns;
  }

  get errored(): Error | null {
    return this.#output.errored;
  }

  write(text: string): boolean {
    this.hasWritten = true;
    return this.#output.write(text);
  }
}
