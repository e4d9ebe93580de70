import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { FileRef, FileSupport, Message, ToolMessage } from "@proviso/core";
import {
  base64Of,
  chatFiles,
  kindOfFile,
  markedParts,
  picturesAndPdf,
  responsesFiles,
  unknownUpload,
  type BytesOf,
} from "@proviso/adapter-kit";
import { labelOf } from "@proviso/core/internal";
import type { LanguageModel } from "./options.ts";
import { kindOf, type ByProvider } from "./settings.ts";

type UserPart = Extract<LanguageModelV4Prompt[number], { role: "user" }>["content"][number];
type FilePart = Extract<UserPart, { type: "file" }>;
type ToolOutput = Extract<
  Extract<LanguageModelV4Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

/** A body of Anthropic's has 32 MiB at most, and base64 is a third longer than the bytes. */
const anthropicTotal = 25_165_824;
const everywhere = Object.freeze(["stored", "link", "uploaded"] as const);

const anthropic: FileSupport = Object.freeze({
  types: Object.freeze([...picturesAndPdf, "text/plain"]),
  from: everywhere,
  inToolResults: picturesAndPdf,
  maxTotalBytes: anthropicTotal,
  refuses: (file: FileRef) => unknownUpload(file, "anthropic"),
  tokensOf: anthropicTokens,
});

/** Google's package alone has a word for files in the model's own answers. */
const labelsOnly: readonly string[] = Object.freeze([]);

/** The package of Google has no word for links and uploads in a tool's answer, and would send their JSON as text. */
const google: FileSupport = Object.freeze({
  types: Object.freeze([...picturesAndPdf, "image/heic", "audio/*", "video/*", "text/*"]),
  from: everywhere,
  inToolResults: Object.freeze([...picturesAndPdf, "image/heic", "audio/*", "video/*", "text/*"]),
  inAnswers: Object.freeze(["image/*", "audio/*", "video/*"]),
  refuses: (file: FileRef, place: "user" | "tool") =>
    place === "tool" && file.kind !== "stored" ? "Its tools answer with bytes alone." : unknownUpload(file, "google"),
});
const vertex: FileSupport = Object.freeze({ ...google, from: Object.freeze(["stored", "link"] as const) });
const bedrock: FileSupport = Object.freeze({ types: picturesAndPdf, from: Object.freeze(["stored"] as const) });
const gateway: FileSupport = Object.freeze({ types: picturesAndPdf, from: Object.freeze(["stored", "link"] as const) });
const compatible = chatFiles(undefined);
/** The package of the interface v2 throws for documents and sounds. */
const olderCompatible: FileSupport = Object.freeze({
  ...compatible,
  types: Object.freeze(picturesAndPdf.filter((type) => type !== "application/pdf")),
});
const openaiResponses = responsesFiles("openai");
const azureResponses = responsesFiles("azure");
const openaiChat = chatFiles("openai");

/** Anthropic counts a picture's pixels, 750 to a token. Source: Anthropic's guide, "Vision". */
function anthropicTokens(file: FileRef): number | undefined {
  if (kindOfFile(file) !== "image" || file.kind !== "stored") return undefined;
  const { width, height } = file;
  return width === undefined || height === undefined ? undefined : Math.max(1_600, Math.ceil((width * height) / 750));
}

/** The files that a model takes, by what its package sends them as; undefined: none. */
export function filesOfModel(model: LanguageModel | string): FileSupport | undefined {
  const isNewest = typeof model === "string" || model.specificationVersion === "v4";
  const own = supportOf(model);
  const support = own && answersBack(own);
  // The interfaces before v4 have no word for uploads, and another one for the files of a tool's answer.
  if (isNewest || support === undefined) return support;
  const { inToolResults: _, ...rest } = support;
  return Object.freeze({
    ...rest,
    inAnswers: labelsOnly,
    from: Object.freeze(["stored", "link"] as const).filter((one) => support.from.includes(one)),
  });
}

const withAnswers = new WeakMap<FileSupport, FileSupport>();

/** Files of the model's own answers reach this adapter, as labels where the package has no word for them. */
function answersBack(support: FileSupport): FileSupport {
  if (support.inAnswers !== undefined) return support;
  let made = withAnswers.get(support);
  if (made === undefined) withAnswers.set(support, (made = Object.freeze({ ...support, inAnswers: labelsOnly })));
  return made;
}

function supportOf(model: LanguageModel | string): FileSupport | undefined {
  const provider = typeof model === "string" ? "" : model.provider;
  switch (kindOf(model)) {
    case "responses":
      return provider.includes("azure") ? azureResponses : openaiResponses;
    case "chat":
      return openaiChat;
    case "anthropic":
      return anthropic;
    case "google":
      return provider.includes("vertex") ? vertex : google;
    case "bedrock":
      return bedrock;
    case "gateway":
      return gateway;
    case "compatible":
      return typeof model !== "string" && (model.specificationVersion as string) === "v2"
        ? olderCompatible
        : compatible;
    case "other":
      return undefined;
  }
}

/** A user's text and files; marks of the cache stand behind the parts that they end. */
export function userParts(
  model: LanguageModel,
  message: Message,
  bytesOf: BytesOf,
  marked?: { readonly places: readonly number[]; readonly options: ByProvider },
): UserPart[] {
  const parts = markedParts(message, marked?.places);
  const sent = parts.filter((part) => part.kind === "file" || !isBlank(part.text));
  return (sent.length === 0 ? parts : sent).map((part): UserPart => {
    const given: UserPart =
      part.kind === "text" ? { type: "text", text: part.text } : filePart(model, part.file, bytesOf);
    const mark = part.cache === true ? marked?.options : undefined;
    const providerOptions = mark && { ...given.providerOptions, ...merged(given.providerOptions, mark) };
    return providerOptions === undefined ? given : { ...given, providerOptions };
  });
}

function merged(a: ByProvider | undefined, b: ByProvider): ByProvider {
  return Object.fromEntries(Object.entries(b).map(([name, options]) => [name, { ...a?.[name], ...options }]));
}

/** Whether a text is left out where something else is sent: Anthropic and Bedrock refuse a block of blanks. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** What a tool answered, its text first: some services have one place for the text of an answer. */
export function toolContent(model: LanguageModel, message: ToolMessage, bytesOf: BytesOf): ToolOutput {
  const text = isBlank(message.text) ? [] : [{ type: "text" as const, text: message.text }];
  const files = (message.files ?? []).map(({ file }) => filePart(model, file, bytesOf));
  return { type: "content", value: [...text, ...files] };
}

/**
 * A file that the model made, as a part of its own answer: the file where the package has a word for it, else its label.
 */
export function madePart(
  model: LanguageModel,
  file: FileRef,
  bytesOf: BytesOf,
): FilePart | { readonly type: "text"; readonly text: string } {
  const types = filesOfModel(model)?.inAnswers ?? labelsOnly;
  const [kind = ""] = file.mediaType.split("/");
  const goesBack = file.kind === "stored" && types.includes(`${kind}/*`);
  return goesBack ? filePart(model, file, bytesOf) : { type: "text", text: labelOf(file) };
}

/** A file as the interface of the model has it: before v4, the data stood in the part itself. */
function filePart(model: LanguageModel, file: FileRef, bytesOf: BytesOf): FilePart {
  const { name: filename, mediaType } = file;
  const data = dataOf(file, bytesOf);
  const isNewest = model.specificationVersion === "v4";
  const before = data.type === "url" ? data.url : data.type === "data" ? data.data : undefined;
  return {
    type: "file",
    filename,
    mediaType,
    data: isNewest ? data : (before as unknown as FilePart["data"]),
    ...detailOf(model, file),
  };
}

/** The package looks for how closely a picture is looked at under its own name. */
function detailOf(model: LanguageModel, { detail }: FileRef): { providerOptions?: ByProvider } {
  if (detail === undefined) return {};
  const kind = kindOf(model);
  if (kind !== "responses" && kind !== "chat") return {};
  return { providerOptions: { [model.provider.includes("azure") ? "azure" : "openai"]: { imageDetail: detail } } };
}

function dataOf(file: FileRef, bytesOf: BytesOf): FilePart["data"] {
  switch (file.kind) {
    case "stored":
      return { type: "data", data: base64Of(file, bytesOf) };
    case "link":
      return { type: "url", url: new URL(file.url) };
    case "uploaded":
      return { type: "reference", reference: file.ids as Record<string, string> & { type?: never } };
  }
}
