-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.dialled(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
begin
  return regexp_replace(app.ascii_digits(value), '[^0-9+]', '', 'g');
end $function$;

REVOKE ALL ON FUNCTION "app"."dialled"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."dialled"(text) TO "barid_caller";
