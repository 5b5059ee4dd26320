"use strict";
// Each form sends its call to the server that the page came from, and shows the reply as it comes.
const key = document.getElementById("key");

function requestOf(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams(), headers = new Headers();
  if (key.value) headers.set("Authorization", "Bearer " + key.value);
  for (const input of form.querySelectorAll("input[data-in]")) {
    if (input.dataset.in === "path") path = path.replace("{" + input.name + "}", encodeURIComponent(input.value));
    else if (input.value && input.dataset.in === "query") query.set(input.name, input.value);
    else if (input.value) headers.set(input.name, input.value);
  }
  const text = form.querySelector("textarea"), files = form.querySelector("input[type=file]");
  if (text) headers.set("Content-Type", "application/json");
  const body = text ? text.value : files ? new FormData(form) : undefined;
  // Seen from the page, since a proxy may have put a path before all addresses.
  return ["." + path + (query.size ? "?" + query : ""), { method: form.dataset.method, headers, body }];
}

function readable(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

async function send(form, output, signal) {
  const [path, request] = requestOf(form);
  const reply = await fetch(path, { ...request, signal });
  const head = reply.status + " " + reply.statusText + "\n";
  let text = "";
  output.textContent = head;
  if (reply.body) {
    for (const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      output.textContent = head + (text += value);
    }
  }
  output.textContent = head + readable(text);
}

for (const form of document.forms) {
  const output = form.querySelector("output"), [go, stop] = form.querySelectorAll("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    output.hidden = stop.hidden = false;
    go.disabled = true;
    output.textContent = "…";
    try {
      await send(form, output, abort.signal);
    } catch (error) {
      output.textContent += "\n" + (error.name === "AbortError" ? "Stopped." : "No reply: " + error.message);
    }
    go.disabled = false;
    stop.hidden = true;
  });
}
