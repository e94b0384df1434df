/** Checks that the deployment matches the source: dependencies, imports and configuration agree. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { root, slugs } from "../../supabase/local/paths.ts";
import { filesIn, textOf } from "../tools/checks/files.ts";
import { importsOf, loadedWith, reachedFrom } from "../support/imports.ts";
import { folders } from "./functions.ts";

const deno = JSON.parse(textOf("deno.json")) as { imports: Record<string, string> };
const npm = JSON.parse(textOf("package.json")) as Record<string, Record<string, string>>;
// shared/client is a package for the programs of others.
const deployed = [...filesIn("functions"), ...filesIn("shared")].filter((file) =>
  file.endsWith(".ts") && !file.startsWith("shared/client/")
);
const imports = deployed.flatMap((file) =>
  importsOf(textOf(file)).map((specifier) => ({ file, specifier }))
);
const shown = (list: typeof imports) => list.map(({ file, specifier }) => `${file}: ${specifier}`);

describe("dependencies", () => {
  test("deno.json and package.json name the same packages in the same exact versions", () => {
    const packages = Object.entries(deno.imports).filter(([name]) => !name.endsWith("/"));
    expect(
      Object.fromEntries(
        packages.map(([name, target]) => [name, target.replace(`npm:${name}@`, "")]),
      ),
    )
      .toEqual(npm.dependencies);
  });

  test("every command of the bootstrap is a script of package.json, and no other is", () => {
    const [, table] = /^const commands = \{([\s\S]*?)^\};/m.exec(
      textOf("supabase/local/bootstrap.mjs"),
    )!;
    const commands = [...table!.matchAll(/^ {2}"?([\w:]+)"?:/gm)].map(([, name]) => name!);
    expect(commands).toContain("release");
    expect(npm.scripts).toEqual(
      Object.fromEntries(
        commands.map((name) => [name, `node supabase/local/bootstrap.mjs ${name}`]),
      ),
    );
  });

  test("every version is exact", () => {
    const versions = ["dependencies", "devDependencies", "optionalDependencies"].flatMap((part) =>
      Object.entries(npm[part])
    );
    expect(
      versions.filter(([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
    ).toEqual(
      [],
    );
  });

  test("deno.json has no alias of a folder: the deployment would upload all that is in it", () => {
    expect(Object.entries(deno.imports).filter(([, target]) => !target.startsWith("npm:"))).toEqual(
      [],
    );
  });

  test("a part of a package, such as hono/cors, has its entry with a slash", () => {
    const missing = imports.filter(({ specifier }) => {
      const name = packageOf(specifier);
      return name && specifier !== name &&
        deno.imports[`${name}/`] !== deno.imports[name]?.replace("npm:", "npm:/") + "/";
    });
    expect(shown(missing)).toEqual([]);
  });
});

describe("imports of the functions", () => {
  test("there are some, so that the rules below say something", () => {
    expect(imports.length).toBeGreaterThan(20);
  });

  test("a relative one ends in .ts or .json and exists", () => {
    const wrong = imports.filter(({ file, specifier }) =>
      specifier.startsWith(".") &&
      !(/\.(ts|json)$/.test(specifier) && existsSync(join(root, dirname(file), specifier)))
    );
    expect(shown(wrong)).toEqual([]);
  });

  test("any other is a package of deno.json or part of Node", () => {
    const wrong = imports.filter(({ specifier }) =>
      !specifier.startsWith(".") && !specifier.startsWith("node:") &&
      !Object.hasOwn(deno.imports, packageOf(specifier) ?? "")
    );
    expect(shown(wrong)).toEqual([]);
  });

  test("shared/ takes nothing from functions/, and no function takes from another", () => {
    const wrong = imports.filter(({ file, specifier }) => {
      const target = normalize(join(dirname(file), specifier)).replaceAll("\\", "/");
      const own = file.startsWith("shared/")
        ? "shared/"
        : `${file.split("/").slice(0, 2).join("/")}/`;
      return specifier.startsWith(".") && !target.startsWith(own) && !target.startsWith("shared/");
    });
    expect(shown(wrong)).toEqual([]);
  });

  test("a file of shared/ is in a room and takes only from the rooms below its own", () => {
    // Rooms of one floor know nothing of each other.
    const floors = [
      ["runtime", "errors", "i18n"],
      ["schemas", "outbound", "pdf"],
      ["db"],
      ["api", "routing", "payment-gateways", "dispatch"],
      ["http"],
    ];
    const roomOf = (file: string) => file.split("/")[1]!;
    const floorOf = (room: string) => floors.findIndex((rooms) => rooms.includes(room));
    const shared = deployed.filter((file) => file.startsWith("shared/"));
    expect(shared.filter((file) => floorOf(roomOf(file)) === -1)).toEqual([]);
    const wrong = imports.filter(({ file, specifier }) => {
      if (!file.startsWith("shared/") || !specifier.startsWith(".")) return false;
      const room = roomOf(file);
      const from = roomOf(normalize(join(dirname(file), specifier)).replaceAll("\\", "/"));
      return from !== room && floorOf(from) >= floorOf(room);
    });
    expect(shown(wrong)).toEqual([]);
  });

  test("a process that starts loads no schemas: they come with the feature that is asked for", () => {
    for (const slug of slugs) {
      const loaded = reachedFrom(`functions/${slug}/index.ts`, loadedWith);
      expect(loaded).toContain("shared/http/serve.ts");
      expect(loaded.filter((file) => loadedWith(textOf(file)).includes("zod"))).toEqual([]);
    }
  });

  test("none is computed: the deployment finds imports by reading the text", () => {
    expect(deployed.filter((file) => /\bimport\(\s*[^"'\s]/.test(textOf(file)))).toEqual([]);
  });
});

test("the functions use no global of Deno, so Node runs them as they are and needs no shim", () => {
  expect(deployed.filter((file) => /^[^/*]*\bDeno\./m.test(textOf(file)))).toEqual([]);
});

describe("supabase/config.toml", () => {
  const config = textOf("supabase/config.toml");

  test("seeds a database with the demo data that npm start seeds it with", () => {
    const [, seeds] = /^sql_paths = \["\.\.\/(.*)\/\*\.sql"\]$/m.exec(config)!;
    expect(seeds).toBe("sql/demo");
    expect(filesIn(seeds!).filter((file) => file.endsWith(".sql")).length).toBeGreaterThan(3);
  });

  test("the functions are the folders below functions/", () => {
    expect(folders).toEqual([...slugs].sort());
    const stanzas = [...config.matchAll(/^\[functions\.([\w-]+)\]/gm)].map((match) => match[1]);
    expect(stanzas.sort()).toEqual(folders);
  });

  test.each(folders)(
    "%s is enabled, verifies tokens itself and names its entry and imports",
    (slug) => {
      const stanza = config.split(`[functions.${slug}]\n`)[1]?.split("\n[")[0];
      expect(stanza?.trim().split("\n").sort()).toEqual([
        "enabled = true",
        `entrypoint = "../functions/${slug}/index.ts"`,
        'import_map = "../deno.json"',
        "verify_jwt = false",
      ]);
    },
  );

  test("supabase/functions is kept: Docker mounts it and would make it as root", () => {
    expect(existsSync(join(root, "supabase/functions/.gitkeep"))).toBe(true);
  });
});

/** The package of a specifier: `@scope/name/part` → `@scope/name`; undefined for files and Node's own. */
function packageOf(specifier: string): string | undefined {
  if (/^(\.|node:)/.test(specifier)) return undefined;
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
