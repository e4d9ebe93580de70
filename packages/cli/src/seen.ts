import type { FrameworkEvent, Session, StreamEvent, Usage } from "@proviso/core";
import { printable, SpentByRun } from "@proviso/core/internal";
import { jsonLine } from "./terminal.ts";
import type { World } from "./world.ts";

/** What is known of an evaluation while it runs. */
export interface Seen {
  add(event: StreamEvent): void;
  /** Ends the line that is open. */
  end(): void;
  /** The texts of all turns so far. */
  text(): string;
  facts(): {
    readonly model: string;
    readonly turns: number;
    readonly durationMs: number;
    readonly evaluationId: string;
    /** What it has spent, evaluations inside its calls included. */
    readonly usage: Usage;
  };
}

/** How an evaluation is shown. */
export interface Shown {
  readonly isJson: boolean;
  readonly isStream: boolean;
}

/**
 * Keeps the texts of an evaluation's turns, and prints them as they come where that is wanted. What evaluations inside its
 * calls spend is counted where the session is given.
 */
export function seenOf(world: World, { isJson, isStream }: Shown, session?: Session): Seen {
  const spent = new SpentByRun();
  followInside(session, (event) => void spent.add(event));
  const startedAt = world.clock.now();
  const texts = new Map<number, string>();
  let model = "";
  let evaluationId = "";
  let turns = 0;
  /** The turn whose text the line that is open shows. */
  let open: number | undefined;
  const shows = isStream && !isJson;
  const end = (): void => {
    if (open !== undefined) world.stdout.write("\n");
    open = undefined;
  };
  const show = (turn: number, text: string): void => {
    if (!shows || text === "") return;
    if (open !== turn) end();
    open = turn;
    world.stdout.write(printable(text));
  };
  return {
    end,
    text: () => [...texts.values()].filter((text) => text !== "").join("\n"),
    facts: () => {
      return { model, turns, evaluationId, durationMs: world.clock.now() - startedAt, usage: spent.total() };
    },
    add(event) {
      if (isJson && isStream) world.out(jsonLine(event));
      if (event.type === "app") return;
      evaluationId = event.evaluationId;
      if (event.type !== "output.delta") spent.add(event);
      if (event.type === "prompt.rendered") ({ model } = event);
      // Where a limit leaves no room for a request, its turn has none.
      else if (event.type === "provider.requested") ({ turn: turns } = event);
      else if (event.type === "text.delta") {
        texts.set(event.turn, (texts.get(event.turn) ?? "") + event.text);
        show(event.turn, event.text);
      } else if (event.type === "text.reset") {
        texts.delete(event.turn);
        if (open === undefined) return;
        end();
        world.err("the answer broke off and is asked for again");
      } else if (event.type === "provider.responded") {
        ({ model } = event);
        if (!texts.has(event.turn)) show(event.turn, event.text);
        texts.set(event.turn, event.text);
      }
    },
  };
}

/** The stream of an evaluation has its own events, and its session those of the evaluations inside it, too. */
function followInside(session: Session | undefined, take: (event: FrameworkEvent) => void): void {
  const inside = (event: FrameworkEvent): void => {
    if (event.parent !== undefined) take(event);
  };
  session?.on("provider.responded", inside);
  session?.on("prompt.executed", inside);
  session?.on("prompt.failed", inside);
}
