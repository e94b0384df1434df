/** The conditions under which anything may be changed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../local/failure.ts";
import { root } from "../../local/paths.ts";
import { limits } from "../limits.ts";
import type { Step } from "./step.ts";

/** The CLI is the one that the tests deploy with. */
export const tools: Step = {
  name: "Tools",
  plan() {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const file = join(root, "node_modules", "supabase", "package.json");
    const found = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : "none";
    if (found !== devDependencies.supabase) {
      throw new Failure(
        `Supabase's CLI ${devDependencies.supabase} is needed, found ${found}: npm ci installs it.`,
      );
    }
    return Promise.resolve([]);
  },
};

interface Project {
  ref: string;
  name: string;
  status: string;
  database?: { version?: string };
}

/** Somebody is signed in to whom the project belongs, and it is running. */
export const login: Step = {
  name: "Login and project",
  async plan({ cli, settings: { ref } }) {
    const { projects } = await cli.read<{ projects: Project[] }>(["projects", "list"]);
    const project = projects.find((candidate) => candidate.ref === ref);
    if (!project) {
      const known = projects.map(({ ref, name }) => `${name} (${ref})`).join(", ");
      throw new Failure(`The project ${ref} is not among yours: ${known || "you have none"}.`);
    }
    if (!project.status.startsWith("ACTIVE")) {
      throw new Failure(`${project.name} is ${project.status}: start it in the dashboard first.`);
    }
    const major = Number.parseInt(project.database?.version ?? "17");
    if (major < 15) throw new Failure(`${project.name} has Postgres ${major}; 15 is the oldest.`);
    return [];
  },
};

/** The least that every plan gives is enough. */
export const plan: Step = {
  name: "Limits",
  async plan({ cli, project, bundles, settings: { secrets } }) {
    const { functions } = await cli.read<{ functions: { slug: string }[] }>(
      ["functions", "list", project],
    );
    const slugs = new Set([...functions, ...bundles].map(({ slug }) => slug));
    const large = bundles.filter(({ compressed }) => compressed > limits.bundleBytes);
    const long = [...secrets].filter(([, value]) => Buffer.byteLength(value) > limits.secretBytes);
    const found = [
      ...(slugs.size > limits.functions
        ? [`${slugs.size} functions, ${limits.functions} are allowed`]
        : []),
      ...large.map(({ slug, compressed }) =>
        `${slug} has ${compressed} bytes, ${limits.bundleBytes} are allowed`
      ),
      ...long.map(([name]) => `${name} is longer than ${limits.secretBytes} bytes`),
    ];
    if (found.length > 0) throw new Failure(`The platform will refuse this: ${found.join("; ")}.`);
    return [];
  },
};
