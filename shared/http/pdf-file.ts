/** A PDF as an answer, which browsers show. */
export function pdfFile(filename: string, pdf: Uint8Array): Response {
  return new Response(pdf as BodyInit, {
    headers: {
      "content-type": "application/pdf",
      "content-disposition": `inline; filename="${filename}"`,
    },
  });
}
