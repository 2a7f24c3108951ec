// Asks the server, while the form is filled in, what is wrong with it and when it would be due.

const form = document.querySelector("form[data-check]");
const touched = new Set();
let timer = 0, asked = 0;

async function check() {
  const number = ++asked;
  const body = new URLSearchParams(new FormData(form));
  const signal = AbortSignal.timeout(10000);
  const answer = await fetch(form.dataset.check, { method: "POST", body, signal, redirect: "manual" })
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
  if (answer && number === asked) show(answer);
}

// Fields that nobody has touched may still be empty.
function show({ errors, due }) {
  document.getElementById("due").textContent = due;
  for (const name of [...touched, "payload"]) {
    const line = document.getElementById(`error-${name}`);
    const field = form.elements.namedItem(name);
    if (line) line.textContent = errors[name] ?? "";
    if (name in errors) field?.setAttribute("aria-invalid", "true");
    else field?.removeAttribute("aria-invalid");
  }
}

form?.addEventListener("input", ({ target }) => {
  touched.add(target.name);
  clearTimeout(timer);
  timer = setTimeout(check, 400);
});
