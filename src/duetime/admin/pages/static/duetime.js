// Adds to pages that work without it: live updates, shortcuts, times that stay true, copying.

const root = document.documentElement;
const find = (selector, within = document) => within.querySelector(selector);
const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];
const policy = window.trustedTypes?.createPolicy("duetime", { createHTML: (text) => text })
  ?? { createHTML: (text) => text };
const still = matchMedia("(prefers-reduced-motion: reduce)");

// -- times ------------------------------------------------------------------------------

const lag = Date.parse(root.dataset.now) - Date.now();
const [NOW, AHEAD, AGO, ...NOUNS] = root.dataset.distances.split("|");
const DAY = 86400, MONTH = 30.4375 * DAY, YEAR = 365.25 * DAY;

// As the server writes it: `3 min ago`, `in 2 days`.
function relative(at) {
  const seconds = (at - Date.now() - lag) / 1000;
  const size = Math.abs(seconds);
  return size < 0.5 ? NOW : (seconds > 0 ? AHEAD : AGO).replace("{}", distance(size));
}

function distance(size) {
  if (size < 59.5) return `${Math.round(size)}\u00a0s`;
  if (size < 3570) return `${Math.round(size / 60)}\u00a0min`;
  if (size < DAY - 1800) return `${Math.round(size / 3600)}\u00a0h`;
  const kind = size < 60 * DAY ? 0 : size < 2 * YEAR - MONTH / 2 ? 1 : 2;
  const count = Math.round(size / [DAY, MONTH, YEAR][kind]);
  const one = root.lang === "fr" ? count < 2 : count === 1;
  return `${count}\u00a0${NOUNS[2 * kind + (one ? 0 : 1)]}`;
}

function showTimes() {
  for (const time of findAll("time[data-relative]")) {
    const text = relative(Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

// -- live updates -----------------------------------------------------------------------

const USUAL = 1500, LONGEST = 30000;
const received = new Map();
let tag = null, pause = USUAL, timer = 0, asking = false, seenAt = new Date(), ended = false;

async function ask(view) {
  const query = new URLSearchParams(location.search);
  query.set("view", view.dataset.view);
  for (const [name, value] of new URLSearchParams(view.dataset.query ?? "")) query.set(name, value);
  return fetch(`${root.dataset.path.replace(/\/$/, "")}/live?${query}`, {
    headers: tag ? { "If-None-Match": tag } : {},
    cache: "no-store",
    redirect: "manual",
    signal: AbortSignal.timeout(10000),
  });
}

async function update() {
  const view = find("[data-view]");
  if (!view || asking || ended || document.hidden) return;
  asking = true;
  try {
    await take(view, await ask(view));
    connected(true);
  } catch {
    connected(false);
  } finally {
    asking = false;
    plan();
  }
}

async function take(view, response) {
  if (response.type === "opaqueredirect") return location.reload();
  if ([403, 404].includes(response.status)) ended = true;
  else if (response.status === 200) {
    show(view, await response.text());
    tag = response.headers.get("ETag");
  } else if (response.status !== 304) throw new Error(String(response.status));
}

function plan() {
  clearTimeout(timer);
  if (!ended && !document.hidden && find("[data-view]")) timer = setTimeout(update, pause);
}

function connected(well) {
  const line = find("#connection");
  if (well) seenAt = new Date();
  pause = well ? USUAL : Math.min(2 * pause, LONGEST);
  line.textContent = line.dataset.text.replace("{time}", seenAt.toLocaleTimeString(root.lang));
  line.hidden = well;
}

function show(view, text) {
  const fresh = new DOMParser().parseFromString(policy.createHTML(text), "text/html");
  for (const region of fresh.body.children) {
    const old = region.id && document.getElementById(region.id);
    const before = received.get(region.id);
    received.set(region.id, region.outerHTML);
    if (!old || !(view.contains(old) || region.id === "unread") || before === region.outerHTML) continue;
    const rows = new Map(findAll("[data-row]", old).map((row) => [row.dataset.row, lasting(row)]));
    region.querySelectorAll("time[data-relative]").forEach((time) => {
      time.textContent = relative(Date.parse(time.dateTime));
    });
    become(old, region);
    if (before !== undefined) tint(old, rows);
  }
  showTimes();
  view.dispatchEvent(new CustomEvent("duetime:shown", { bubbles: true }));
}

function tint(region, rows) {
  if (still.matches) return;
  for (const row of findAll("[data-row]", region)) {
    if (rows.get(row.dataset.row) !== lasting(row)) {
      row.animate([{ backgroundColor: "var(--blue-ground)" }, {}], 1000);
    }
  }
}

// What changes with time alone is no news.
function lasting(row) {
  const copy = row.cloneNode(true);
  findAll("time, .is-late", copy).forEach((part) => part.remove());
  return copy.textContent;
}

// What the reader has done to an element stays: what is open, typed, ticked.
const KEPT = new Set(["open", "value", "checked", "data-script"]);
const keyOf = (node) => node.id || node.dataset?.row || null;

function become(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !KEPT.has(name)) old.setAttribute(name, value);
  }
  const known = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    const same = key ? known.get(key) : like(next, child) ? next : null;
    if (!same || same.nodeName !== child.nodeName) {
      old.insertBefore(document.adoptNode(child), next);
      continue;
    }
    if (same === next) next = next.nextSibling;
    else old.insertBefore(same, next);
    if (same.nodeType === Node.ELEMENT_NODE) become(same, child);
    else if (same.data !== child.data) same.data = child.data;
  }
  while (next) [next, old] = [next.nextSibling, (next.remove(), old)];
}

const like = (node, other) => node && node.nodeType === other.nodeType
  && node.nodeName === other.nodeName && !keyOf(node);

// -- shortcuts --------------------------------------------------------------------------

let wentAt = 0;

function pressed(event) {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || find("dialog:modal")) return;
  const going = Date.now() - wentAt < 1500;
  wentAt = event.key === "g" ? Date.now() : 0;
  if (going) return find(`.rail [data-key="${CSS.escape(event.key)}"]`)?.click();
  const act = { "/": search, "?": help, j: () => move(1), k: () => move(-1), x: pick }[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

const search = () => find("input[type=search]")?.focus();
const help = () => find("#shortcuts")?.showModal();
const pick = () => find("[data-select]", document.activeElement.closest("tr") ?? root)?.click();

function move(step) {
  const rows = findAll("[data-rows] tbody tr");
  const at = rows.indexOf(document.activeElement.closest("tr"));
  const row = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  const target = row && (find("a[href], button", row) ?? row);
  if (target === row) row?.setAttribute("tabindex", "-1");
  target?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

// -- small things -----------------------------------------------------------------------

async function clicked(event) {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.title = copy.dataset.copied;
    if (!still.matches) copy.animate([{ color: "var(--green)" }, {}], 1000);
  }
  for (const menu of findAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
}

function changed({ target }) {
  if (target.matches("[data-select-all]")) {
    for (const box of findAll("[data-select]", target.closest("table"))) box.checked = target.checked;
  }
  const count = findAll("[data-select]:checked").length;
  for (const place of findAll("[data-selected]")) {
    place.textContent = place.dataset.selected.replace("{n}", count);
  }
}

function sent(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.ariaBusy === "true") event.preventDefault();
  form.ariaBusy = "true";
}

function tellZone() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (!timeZone) return;
  const { zoneCookie, path } = root.dataset;
  const secure = zoneCookie.startsWith("__Secure-") ? "; Secure" : "";
  const name = encodeURIComponent(timeZone);
  document.cookie = `${zoneCookie}=${name}; Path=${path}; Max-Age=31536000; SameSite=Lax${secure}`;
  for (const link of findAll("[data-browser-zone]")) {
    const query = new URLSearchParams(link.search);
    query.set("tz", timeZone);
    link.search = query;
    link.textContent = timeZone;
  }
}

function makeModal(dialog) {
  // Not by close(), whose event would be taken for the reader's.
  dialog.removeAttribute("open");
  dialog.showModal();
  dialog.addEventListener("close", () => location.assign(dialog.dataset.close));
}

// On phones, ten places are wider than the window.
function showPlace() {
  const rail = find(".rail"), here = rail && find("[aria-current]", rail);
  if (here) rail.scrollLeft = here.offsetLeft - (rail.clientWidth - here.clientWidth) / 2;
}

root.dataset.script = "on";
showPlace();
tellZone();
showTimes();
findAll("dialog[data-modal]").forEach(makeModal);
if (matchMedia("(max-width: 1100px)").matches) findAll("[data-folds]").forEach((part) => { part.open = false; });
find("form[data-goes-on]")?.requestSubmit();
document.addEventListener("keydown", pressed);
document.addEventListener("click", clicked);
document.addEventListener("change", changed);
document.addEventListener("submit", sent);
document.addEventListener("visibilitychange", () => { clearTimeout(timer); update(); });
addEventListener("pageshow", () => findAll("form").forEach((form) => { form.ariaBusy = null; }));
setInterval(() => document.hidden || showTimes(), 1000);
plan();
