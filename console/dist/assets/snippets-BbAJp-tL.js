import{k as e}from"./index-DEc6cjwI.js";var t=`Say hello.`;function n(e,t,{url:n,model:r}){let i=n.replace(/\/+$/,``);return e===`curl`?a(i,r):`${o(e,t,i)}\n${c[t][e](r)}`}function r(e,t){if(e===`curl`)return;let n={openai:{typescript:`openai`,python:`openai`},anthropic:{typescript:`@anthropic-ai/sdk`,python:`anthropic`},google:{typescript:`@google/genai`,python:`google-genai`}}[e];return t===`python`?`pip install ${n.python}`:`npm install ${n.typescript}`}function i(e){return`export SWITCHYARD_KEY=${e}`}function a(e,n){return`curl ${e}/api/v1/chat/completions \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify({model:n,messages:[{role:`user`,content:t}]})}'`}function o(e,t,n){return s[t][e](n)}var s={typescript:{openai:e=>`import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${e}/api/v1",
  apiKey: process.env.SWITCHYARD_KEY,
});`,anthropic:e=>`import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${e}/api",
  apiKey: process.env.SWITCHYARD_KEY,
});`,google:e=>`import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({
  apiKey: process.env.SWITCHYARD_KEY,
  httpOptions: { baseUrl: "${e}/api", apiVersion: "v1" },
});`},python:{openai:e=>`import os
from openai import OpenAI

client = OpenAI(
    base_url="${e}/api/v1",
    api_key=os.environ["SWITCHYARD_KEY"],
)`,anthropic:e=>`import os
from anthropic import Anthropic

client = Anthropic(
    base_url="${e}/api",
    api_key=os.environ["SWITCHYARD_KEY"],
)`,google:e=>`import os
from google import genai
from google.genai import types

client = genai.Client(
    api_key=os.environ["SWITCHYARD_KEY"],
    http_options=types.HttpOptions(base_url="${e}/api", api_version="v1"),
)`}},c={typescript:{openai:e=>`const answer = await client.chat.completions.create({
  model: "${e}",
  messages: [{ role: "user", content: "${t}" }],
});
console.log(answer.choices[0].message.content);`,anthropic:e=>`const message = await client.messages.create({
  model: "${e}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "${t}" }],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);`,google:e=>`const answer = await client.models.generateContent({
  model: "${e}",
  contents: "${t}",
});
console.log(answer.text);`},python:{openai:e=>`answer = client.chat.completions.create(
    model="${e}",
    messages=[{"role": "user", "content": "${t}"}],
)
print(answer.choices[0].message.content)`,anthropic:e=>`message = client.messages.create(
    model="${e}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "${t}"}],
)
print("".join(block.text for block in message.content if block.type == "text"))`,google:e=>`answer = client.models.generate_content(
    model="${e}",
    contents="${t}",
)
print(answer.text)`}};function l(e){return e.filter(({category:e,output_modalities:t})=>e===`language`&&t.join()===`text`)}function u(t,n){let r=e.find(e=>e.id===t)?.vendor;return(n.find(e=>e.vendor===r)??n[0])?.id}export{u as a,r as i,o as n,n as o,i as r,l as t};