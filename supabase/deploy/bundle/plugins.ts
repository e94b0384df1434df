/** The bundler's knowledge of Node and of single modules. */
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "rolldown";
import { Failure } from "../../local/failure.ts";

/** Modules of Node by the one name that the runtime knows them by outside of packages, `node:…`. */
const nodeModules: Plugin = {
  name: "modules-of-node",
  resolveId: {
    filter: { id: /^[a-z]/ },
    handler: (id) => builtinModules.includes(id) ? { id: `node:${id}`, external: true } : undefined,
  },
};

/** harfbuzzjs reads its WebAssembly from a file beside it; none is uploaded, so it stands in the code. */
const harfbuzz: Plugin = {
  name: "harfbuzzjs",
  transform: {
    filter: { id: /[\\/]harfbuzzjs[\\/]dist[\\/]index\.mjs$/ },
    handler(code, id) {
      const call = "createHarfBuzz()";
      if (!code.includes(call)) {
        throw new Failure(`harfbuzzjs no longer calls ${call}: its WebAssembly needs another way.`);
      }
      const wasm = readFileSync(join(dirname(id), "harfbuzz.wasm"), "base64");
      const bytes = `NodeBuffer.from("${wasm}", "base64")`;
      return [
        'import { Buffer as NodeBuffer } from "node:buffer";',
        code.replace(call, () => `createHarfBuzz({ wasmBinary: ${bytes} })`),
      ].join("\n");
    },
  },
};

/** The texts of messages, each language as one string that is read when it is first asked for: a start reads none. */
const catalogues: Plugin = {
  name: "catalogues",
  load: {
    filter: { id: /[\\/]shared[\\/]i18n[\\/]catalogues\.ts$/ },
    async handler(id) {
      const module = await import(pathToFileURL(id).href) as { catalogues: object };
      const getters = Object.entries(module.catalogues).map(([language, texts]) =>
        `get ${language}() { return read.${language} ??= JSON.parse(${
          JSON.stringify(JSON.stringify(texts))
        }); },`
      );
      return {
        code: ["const read = {};", "export const catalogues = {", ...getters, "};"].join("\n"),
        moduleType: "js",
      };
    },
  },
};

export const plugins: Plugin[] = [nodeModules, harfbuzz, catalogues];
