/** Barcodes of transfer manifests: read from a scanner or a keyboard, checked, made. */
export * from "../schemas/barcode.ts";
