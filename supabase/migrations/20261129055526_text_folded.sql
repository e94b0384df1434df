-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.folded(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN translate(value, '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹یىێکةەہۀھأإآٱؤۆڕڵـًٌٍَُِّْٰ‌‍‎‏'::text, '01234567890123456789يييكهههههااااوورل'::text);

REVOKE ALL ON FUNCTION "app"."folded"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."folded"(text) TO "barid_caller";
