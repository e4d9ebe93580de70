import { inOneLine } from "./terminal.ts";
import type { World } from "./world.ts";

/** Milliseconds between two lines of progress where no terminal is. */
const everyMs = 5_000;

/** Shows how far a command is. */
export interface Progress {
  show(text: string): void;
  /** Takes the line away, where it is on a terminal. */
  end(): void;
}

/** Progress is one line that is written over on a terminal, and elsewhere a line every 5 seconds at most. */
export function progressOf({ stderr, clock, err }: World): Progress {
  let shownAt = clock.now();
  if (stderr.isTTY !== true) {
    return {
      show(text) {
        if (clock.now() - shownAt < everyMs) return;
        shownAt = clock.now();
        err(inOneLine(text));
      },
      end: () => {},
    };
  }
  const { columns = 80 } = stderr;
  let isShown = false;
  return {
    show(text) {
      isShown = true;
      stderr.write(`\r\u001B[K${inOneLine(text).slice(0, columns - 1)}`);
    },
    end() {
      if (isShown) stderr.write("\r\u001B[K");
    },
  };
}
