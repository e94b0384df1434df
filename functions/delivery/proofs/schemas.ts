/** Photos and signatures that prove what happened at a door, of parcels and of manifests. */
import { z } from "zod";
import { maxBytes, maxMetadataBytes } from "../../../shared/schemas/sizes.ts";

export const stages = ["pickup", "delivery"] as const;
export const kinds = ["photo", "signature"] as const;

/** An object of the bucket `proofs` by its path, or a picture elsewhere. */
export const ProofUrl = z.string().max(2000).regex(
  /^(https:\/\/[!-~]+|[0-9a-f-]{36}(\/[\w-][\w.-]*)+)$/,
);
export const PhotoUrls = maxBytes(maxMetadataBytes, z.array(ProofUrl).max(10));

export const extensions = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
} as const;
export const ProofUpload = z.object({
  stage: z.enum(stages),
  kind: z.enum(kinds),
  content_type: z.enum(["image/jpeg", "image/png", "image/webp"]),
}).meta({ id: "ManifestProofUpload" });

export const ProofUploadResponse = z.object({
  data: z.object({ path: z.string(), upload_url: z.string(), token: z.string() }),
});
