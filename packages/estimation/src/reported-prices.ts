import type { UsageSample } from "./samples.ts";

/** US dollars for a token. */
export interface ReportedPrices {
  readonly input: number;
  readonly output: number;
}

/** How far costs may be from what the prices make of their tokens: the mean square of relative errors. */
const tolerance = 0.01;
/** How far input and output have to be from one proportion, that each can have a price of its own: sin² of an angle. */
const leastSpread = 1e-3;

/**
 * The prices of input and output that reported costs let see: those that make the smallest relative errors. undefined
 * where two prices do not explain the costs, or where input and output are always in about one proportion.
 */
export function reportedPrices(samples: readonly UsageSample[]): ReportedPrices | undefined {
  if (samples.length === 0 || !samples.every(({ costUsd = 0 }) => costUsd > 0)) return undefined;
  let [xx, xy, yy, x, y] = [0, 0, 0, 0, 0];
  for (const { inputTokens, outputTokens, costUsd = 1 } of samples) {
    const [input, output] = [inputTokens / costUsd, outputTokens / costUsd];
    xx += input * input;
    xy += input * output;
    yy += output * output;
    x += input;
    y += output;
  }
  const prices = solved({ xx, xy, yy, x, y });
  // The smallest sum of squares is n - (input · x + output · y).
  const isExplained = samples.length - prices.input * x - prices.output * y <= tolerance * samples.length;
  return isExplained && prices.input >= 0 && prices.output >= 0 ? prices : undefined;
}

type Sums = Readonly<Record<"xx" | "xy" | "yy" | "x" | "y", number>>;

/** The normal equations of the two prices; prices that are no numbers where they cannot be solved. */
function solved({ xx, xy, yy, x, y }: Sums): ReportedPrices {
  if (yy === 0) return { input: x / xx, output: 0 };
  if (xx === 0) return { input: 0, output: y / yy };
  const determinant = xx * yy - xy * xy;
  if (!(determinant > leastSpread * xx * yy)) return { input: NaN, output: NaN };
  return { input: (yy * x - xy * y) / determinant, output: (xx * y - xy * x) / determinant };
}
