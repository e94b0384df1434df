-- Which run of the sender waits for what comes due next. Not logged: after a crash no run is left.
create unlogged table if not exists integration.sender_watch (
  is_only boolean primary key default true check (is_only),
  watcher uuid not null
);
