import { definePrompt, defineTool, type Section } from "@proviso/core";
import { z } from "zod";
import { micros, race, row, type Row } from "./measure.ts";

const sectionsInAll = 200;
const toolsInAll = 100;
const deepest = 6;

interface Piece {
  readonly heading: string;
  readonly text: (name: string) => string;
}

/** Sections in chains of `deepest`, every other one with a tool; the pieces are what string concatenation would join. */
function large(): {
  readonly sections: readonly Section<{ readonly name: string }>[];
  readonly pieces: readonly Piece[];
} {
  const pieces: Piece[] = [];
  const input = z.object({ id: z.string() });
  let made = 0;
  const section = (number: string, depth: number, index: number): Section<{ readonly name: string }> => {
    const id = made++;
    const about = `Section ${id} tells how this part of the work is done, in two lines.\nIt is written for`;
    const title = `Part ${id}`;
    pieces.push({
      heading: `${"#".repeat(Math.min(depth + 1, 6))} ${number} ${title}`,
      text: (name) => `${about} ${name}.`,
    });
    const tool = defineTool({ name: `tool_${id}`, description: `Does ${id}.`, input, execute: () => "done" });
    return {
      key: `s${index}`,
      title,
      text: `${about} {{name}}.`,
      tools: id % 2 === 0 ? [tool] : [],
      children: depth < deepest && made < sectionsInAll ? [section(`${number}1.`, depth + 1, 0)] : [],
    };
  };
  const sections: Section<{ readonly name: string }>[] = [];
  while (made < sectionsInAll) sections.push(section(`${sections.length + 1}.`, 1, sections.length));
  return { sections, pieces };
}

/** A large prompt, against writing its text out with string concatenation of the same pieces. */
export async function rendering(quick: boolean): Promise<readonly Row[]> {
  const { sections, pieces } = large();
  const template = definePrompt({ key: "large", params: z.object({ name: z.string() }), sections });
  const prompt = template.bind({ name: "Ada" });
  const concatenated = (name: string): string => {
    let text = "";
    for (const { heading, text: body } of pieces) text += `${text === "" ? "" : "\n\n"}${heading}\n\n${body(name)}`;
    return text;
  };
  const { text, tools } = prompt.render();
  if (text !== concatenated("Ada")) throw new Error("The two texts differ.");
  if (pieces.length !== sectionsInAll || tools.length !== toolsInAll) throw new Error("The prompt has another size.");
  let kept = 0;
  const measured = await race(
    {
      // What is written is read, so that neither is left as a rope of unjoined pieces.
      proviso: () => (kept += prompt.render().text.charCodeAt(text.length - 1)),
      concatenated: () => (kept += concatenated("Ada").charCodeAt(text.length - 1)),
    },
    { times: quick ? 200 : 1_000 },
  );
  const detail = Object.entries(measured).map(([name, value]) => `${name} ${micros(value)}`);
  const what = `rendering ${sectionsInAll} sections, ${toolsInAll} tools, depth ${deepest} / concatenation`;
  return [
    row(
      what,
      measured.proviso / measured.concatenated,
      `${detail.join(" · ")} · ${kept > 0 ? text.length : 0} characters`,
      "≤ 5",
    ),
  ];
}
