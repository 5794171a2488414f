{
  "targets": [
    {
      "target_name": "slotline",
      "type": "none",
      "actions": [
        {
          "action_name": "build_native",
          "inputs": ["native/Cargo.lock"],
          "outputs": ["native/addon/index.js"],
          "action": ["npm", "run", "build:native"]
        }
      ]
    }
  ]
}
