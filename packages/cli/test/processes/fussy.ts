import { definePrompt } from "@proviso/core";

/** A prompt that cannot be rendered where FUSSY is set. */
export const fussy = definePrompt({
  key: "fussy",
  sections: [
    {
      key: "question",
      text: "Say hello.",
      enabled() {
        if (process.env["FUSSY"] === undefined) return true;
        throw new Error("Not today.");
      },
    },
  ],
});
