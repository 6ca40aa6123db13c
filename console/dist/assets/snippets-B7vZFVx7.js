import{r as e}from"./index-HgUnS2_B.js";function t(e,t){return e.find(({id:e})=>e===t)??e[0]}var n=`Say hello.`;function r(e,t,{url:n,model:r}){let i=n.replace(/\/+$/,``);return e===`curl`?o(i,r):`${s(e,t,i)}\n${l[t][e](r)}`}function i(e,t){if(e===`curl`)return;let n={openai:{typescript:`openai`,python:`openai`},anthropic:{typescript:`@anthropic-ai/sdk`,python:`anthropic`},google:{typescript:`@google/genai`,python:`google-genai`}}[e];return t===`python`?`pip install ${n.python}`:`npm install ${n.typescript}`}function a(e){return`export SWITCHYARD_KEY=${e}`}function o(e,t){return`curl ${e}/api/v1/chat/completions \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify({model:t,messages:[{role:`user`,content:n}]})}'`}function s(e,t,n){return c[t][e](n)}var c={typescript:{openai:e=>`import OpenAI from "openai";

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
)`}},l={typescript:{openai:e=>`const answer = await client.chat.completions.create({
  model: "${e}",
  messages: [{ role: "user", content: "${n}" }],
});
console.log(answer.choices[0].message.content);`,anthropic:e=>`const message = await client.messages.create({
  model: "${e}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "${n}" }],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);`,google:e=>`const answer = await client.models.generateContent({
  model: "${e}",
  contents: "${n}",
});
console.log(answer.text);`},python:{openai:e=>`answer = client.chat.completions.create(
    model="${e}",
    messages=[{"role": "user", "content": "${n}"}],
)
print(answer.choices[0].message.content)`,anthropic:e=>`message = client.messages.create(
    model="${e}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "${n}"}],
)
print("".join(block.text for block in message.content if block.type == "text"))`,google:e=>`answer = client.models.generate_content(
    model="${e}",
    contents="${n}",
)
print(answer.text)`}};function u(e){return e.filter(({category:e,output_modalities:t})=>e===`language`&&t.join()===`text`)}function d(n,r,i){let a=e.find(e=>e.id===n)?.vendor,o=r.filter(e=>e.vendor===a);return t(o.length>0?o:r,i)?.id}export{d as a,i,s as n,r as o,a as r,t as s,u as t};