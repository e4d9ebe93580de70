import { styleText } from "node:util";
import type { CommandOutput, World } from "./world.ts";

/** What a colour marks, beside the words that say it. */
export type Style = "added" | "removed" | "undone" | "failed" | "beside";

/** Returns a text in the colour of its style, or as it is. */
export type Paint = (style: Style, text: string) => string;

const formats = {
  added: "green",
  removed: "red",
  undone: "yellow",
  failed: "red",
  beside: "dim",
} as const;

/**
 * Colours for an output: on a terminal, not with `NO_COLOR` or `TERM=dumb`, always with `FORCE_COLOR`.
 */
export function paintFor(output: CommandOutput, env: World["env"]): Paint {
  if (!hasColours(output, env)) return (_style, text) => text;
  return (style, text) => styleText(formats[style], text, { validateStream: false });
}

/** Whether an output has colours. */
export function hasColours({ isTTY = false }: CommandOutput, env: World["env"]): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused = "", TERM: terminal } = env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTTY && refused === "" && terminal !== "dumb";
}
